/* SPDX-License-Identifier: Apache-2.0
 *
 * Trains a compiled step from C: the Llama of 06-train-shakespeare on the
 * letters of a text. Needs the runtime only: no compiler, no MLIR.
 *
 *   train FILE.act TEXT
 */
#include "act-c/Runtime.h"
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 8, SEQUENCE = 64, STEPS = 100 };

static void check(actrt_status status) {
  if (status != ACTRT_SUCCESS) {
    fprintf(stderr, "error %d: %s\n", (int)status, actrt_last_error());
    exit(1);
  }
}

/* The next characters of the file, from its start again at its end. */
static void fill(FILE *file, int32_t *tokens, int32_t *labels) {
  for (int i = 0, last = 0; i <= BATCH * SEQUENCE; ++i) {
    int c = getc(file);
    if (c == EOF) {
      rewind(file);
      c = getc(file);
    }
    c %= 64; /* the vocabulary is 65; upper and lower case fall together */
    if (i > 0) {
      tokens[i - 1] = last;
      labels[i - 1] = c;
    }
    last = c;
  }
}

int main(int argc, char **argv) {
  static int32_t tokens[BATCH * SEQUENCE], labels[BATCH * SEQUENCE];
  float loss = 0, first = 0;
  actrt_type batch = {ACTRT_DTYPE_I32, 2, {BATCH, SEQUENCE}};
  actrt_type scalar = {ACTRT_DTYPE_F32, 0, {0}};
  actrt_device device;
  actrt_step step;
  FILE *text;
  if (argc != 3 || actrt_version() >> 16 != ACTRT_VERSION_MAJOR ||
      !(text = fopen(argv[2], "rb")))
    return 2;

  check(actrt_device_open("host", NULL, &device));
  check(actrt_step_load_file(device, argv[1], ACTRT_ALLOW_NATIVE, &step));
  check(actrt_step_initialise(step, 42));
  check(actrt_step_bind(step, "step", ACTRT_INPUT, "tokens", tokens, &batch));
  check(actrt_step_bind(step, "step", ACTRT_INPUT, "labels", labels, &batch));
  check(actrt_step_bind(step, "step", ACTRT_OUTPUT, "loss", &loss, &scalar));
  check(actrt_step_set_f64(step, "lr", 3e-3));
  for (int i = 1; i <= STEPS; ++i) {
    fill(text, tokens, labels);
    check(actrt_step_set_i64(step, "step", i));
    check(actrt_step_run(step, "step"));
    if (i == 1)
      first = loss;
  }
  printf("%d steps: the loss fell from %.1f to %.1f nats\n", STEPS, first,
         loss);
  check(actrt_step_release(step));
  check(actrt_device_release(device));
  fclose(text);
  return 0;
}
