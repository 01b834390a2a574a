/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads an artifact and runs its function "step" once: all that a C program
 * needs. Inputs are zeros but for the first, which counts 0, 1, 2, ...
 *
 *   load_and_run FILE.act
 */
#include "act-c/Runtime.h"
#include <stdio.h>
#include <stdlib.h>

static void check(actrt_status status) {
  if (status != ACTRT_SUCCESS) {
    fprintf(stderr, "error %d: %s\n", (int)status, actrt_last_error());
    exit(1);
  }
}

/* Gives the function's one input or output memory, to be freed by the caller.
 */
static float *bind_port(actrt_step step, actrt_entity entity,
                        size_t *elements) {
  const char *word = entity == ACTRT_INPUT ? "input" : "output";
  size_t count = 0;
  actrt_entity_info info = {.struct_size = sizeof info};
  check(actrt_step_count(step, entity, "step", &count));
  if (count != 1) {
    fprintf(stderr, "expected one %s, found %zu\n", word, count);
    exit(1);
  }
  check(actrt_step_describe(step, entity, "step", 0, &info));
  void *memory = calloc(1, info.bytes ? info.bytes : 1);
  check(actrt_step_bind(step, "step", entity, info.name, memory, &info.type));
  printf("%s %s: %llu bytes\n", word, info.name,
         (unsigned long long)info.bytes);
  *elements = info.bytes / sizeof(float);
  return memory;
}

int main(int argc, char **argv) {
  actrt_device device;
  actrt_step step;
  size_t n = 0, m = 0;
  if (argc != 2 || actrt_version() >> 16 != ACTRT_VERSION_MAJOR)
    return 2;
  check(actrt_device_open("host", NULL, &device));
  check(actrt_step_load_file(device, argv[1], ACTRT_ALLOW_NATIVE, &step));
  check(actrt_step_initialise(step, 42));
  float *in = bind_port(step, ACTRT_INPUT, &n);
  float *out = bind_port(step, ACTRT_OUTPUT, &m);
  for (size_t i = 0; i < n; ++i)
    in[i] = (float)i;
  check(actrt_step_set_f64(step, "scale", 0.5));
  check(actrt_step_run(step, "step"));
  /* 2 * (x / 2 + 1) + x */
  for (size_t i = 0; i < m; ++i)
    if (out[i] != 2 * (float)i + 2) {
      fprintf(stderr, "element %zu is %g\n", i, (double)out[i]);
      return 1;
    }
  printf("%zu values, last %g\n", m, (double)out[m - 1]);
  check(actrt_step_release(step));
  check(actrt_device_release(device));
  free(in);
  free(out);
  return actrt_step_run(step, "step") == ACTRT_INVALID_HANDLE ? 0 : 1;
}
