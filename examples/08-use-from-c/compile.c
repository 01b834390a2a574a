/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiles a training step and runs it, all in this process: no tool is called,
 * no file is written. The model is the Llama of 06-train-shakespeare.
 *
 *   compile CONFIG.json TEXT
 */
#include "act-c/Compiler.h"
#include "act-c/Runtime.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 8, SEQUENCE = 64, STEPS = 100 };

static void compiled(actc_status status) {
  if (status != ACTC_SUCCESS) {
    fprintf(stderr, "error %d: %s\n", (int)status, actc_last_error());
    exit(1);
  }
}

static void ran(actrt_status status) {
  if (status != ACTRT_SUCCESS) {
    fprintf(stderr, "error %d: %s\n", (int)status, actrt_last_error());
    exit(1);
  }
}

/* All diagnostics, of which actc_last_error() has the first error. */
static void tell(const actc_diagnostic *d, void *user) {
  static const char *const severities[] = {"note", "warning", "error",
                                           "remark"};
  fprintf((FILE *)user, "%s:%u:%u: %s: %s\n", d->file, d->line, d->column,
          severities[d->severity], d->message);
}

static char *contents(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END)) {
    fprintf(stderr, "%s cannot be read\n", path);
    exit(1);
  }
  *size = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*size + 1);
  if (!bytes || fread(bytes, 1, *size, file) != *size)
    exit(1);
  bytes[*size] = 0;
  fclose(file);
  return bytes;
}

/* The step of the config's model, as an artifact. */
static actc_output compile(const char *config, size_t size) {
  const char *options[] = {"--batch=8", "--seq=64"};
  const char *flags[] = {"--fuse-attention", "--remat=layer"};
  actc_context context;
  actc_module module;
  actc_output report, step;
  const void *text;

  compiled(actc_context_create(&context));
  compiled(actc_context_set_diagnostics(context, tell, stderr));
  compiled(actc_module_import(context, config, size, options, 2, &module));
  compiled(actc_module_run(module, flags, 2));

  /* One line `name = number` for each figure. */
  compiled(actc_module_report(module, "format=formula", &report));
  compiled(actc_output_get(report, 0, NULL, &text, NULL));
  const char *line = strstr((const char *)text, "model_saved = ");
  if (line)
    printf("%.*s\n", (int)strcspn(line, "\n"), line);
  compiled(actc_output_release(report));

  compiled(actc_module_emit(module, NULL, &step)); /* for this machine */
  compiled(actc_module_release(module));
  compiled(actc_context_release(context));
  return step;
}

int main(int argc, char **argv) {
  static int32_t tokens[BATCH * SEQUENCE], labels[BATCH * SEQUENCE];
  float loss = 0, first = 0;
  actrt_type batch = {ACTRT_DTYPE_I32, 2, {BATCH, SEQUENCE}};
  actrt_type scalar = {ACTRT_DTYPE_F32, 0, {0}};
  actrt_device device;
  actrt_step step;
  const void *bytes;
  size_t size, letters;
  if (argc != 3)
    return 2;

  char *config = contents(argv[1], &size);
  actc_output artifact = compile(config, size);
  free(config);
  compiled(actc_output_get(artifact, 0, NULL, &bytes, &size));
  ran(actrt_device_open("host", NULL, &device));
  ran(actrt_step_load_memory(device, bytes, size, ACTRT_ALLOW_NATIVE, &step));
  compiled(actc_output_release(artifact));

  ran(actrt_step_initialise(step, 42));
  ran(actrt_step_bind(step, "step", ACTRT_INPUT, "tokens", tokens, &batch));
  ran(actrt_step_bind(step, "step", ACTRT_INPUT, "labels", labels, &batch));
  ran(actrt_step_bind(step, "step", ACTRT_OUTPUT, "loss", &loss, &scalar));
  ran(actrt_step_set_f64(step, "lr", 3e-3));
  char *text = contents(argv[2], &letters);
  for (size_t i = 1, at = 0; i <= STEPS; ++i) {
    for (int k = 0; k < BATCH * SEQUENCE; ++k, at = (at + 1) % (letters - 1)) {
      tokens[k] = text[at] & 63;
      labels[k] = text[at + 1] & 63;
    }
    ran(actrt_step_set_i64(step, "step", (int64_t)i));
    ran(actrt_step_run(step, "step"));
    if (i == 1)
      first = loss;
  }
  printf("%d steps: the loss fell from %.1f to %.1f nats\n", STEPS, first,
         loss);
  free(text);
  ran(actrt_step_release(step));
  ran(actrt_device_release(device));
  return 0;
}
