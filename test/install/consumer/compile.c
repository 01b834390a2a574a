/* A C program without MLIR: it asks for the memory of a model. */
#include <act-c/Compiler.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  static const char text[] =
      "func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {\n"
      "  %0 = act.softmax %x axis 1 : tensor<4x8xf32>\n"
      "  return %0 : tensor<4x8xf32>\n"
      "}\n";
  actc_context context;
  actc_module module;
  actc_output report;
  const void *data;
  if (actc_version() >> 16 != ACTC_VERSION_MAJOR ||
      actc_context_create(&context) ||
      actc_module_parse(context, "x.mlir", text, strlen(text), &module) ||
      actc_module_report(module, "format=json", &report) ||
      actc_output_get(report, 0, NULL, &data, NULL)) {
    fprintf(stderr, "%s\n", actc_last_error());
    return 1;
  }
  int found = strstr((const char *)data, "\"arena_bytes\"") != NULL;
  return actc_output_release(report) || actc_module_release(module) ||
         actc_context_release(context) || !found;
}
