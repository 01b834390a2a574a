/* A C program with an MLIR of its own, which gets act's dialects and passes. */
#include <act-c/CompilerMlir.h>
#include <mlir-c/Pass.h>
#include <stdio.h>
#include <string.h>

static void print(MlirStringRef part, void *text) {
  strncat((char *)text, part.data, part.length);
}

int main(void) {
  static char text[1 << 16];
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  actRegisterAllDialects(registry);
  actRegisterAllPasses();
  MlirContext context = mlirContextCreateWithRegistry(registry, false);
  mlirDialectHandleLoadDialect(mlirGetDialectHandle__tile__(), context);
  MlirModule module = mlirModuleCreateParse(
      context,
      mlirStringRefCreateFromCString(
          "func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {\n"
          "  %0 = act.softmax %x axis 1 : tensor<4x8xf32>\n"
          "  return %0 : tensor<4x8xf32>\n"
          "}\n"));
  if (mlirModuleIsNull(module))
    return 1;
  MlirPassManager passes = mlirPassManagerCreate(context);
  if (mlirLogicalResultIsFailure(mlirParsePassPipeline(
          mlirPassManagerGetAsOpPassManager(passes),
          mlirStringRefCreateFromCString("builtin.module(form-kernels)"), print,
          text)) ||
      mlirLogicalResultIsFailure(
          mlirPassManagerRunOnOp(passes, mlirModuleGetOperation(module)))) {
    fprintf(stderr, "%s\n", text);
    return 1;
  }
  mlirOperationPrint(mlirModuleGetOperation(module), print, text);
  int found = strstr(text, "act.group") != NULL;
  mlirPassManagerDestroy(passes);
  mlirModuleDestroy(module);
  mlirContextDestroy(context);
  mlirDialectRegistryDestroy(registry);
  return !found;
}
