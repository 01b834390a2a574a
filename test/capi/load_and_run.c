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

/* Gives every input or output of the function memory; returns the first's. */
static float *bind_all(actrt_step step, actrt_entity entity, size_t *elements) {
  size_t count = 0;
  float *first = NULL;
  check(actrt_step_count(step, entity, "step", &count));
  for (size_t i = 0; i < count; ++i) {
    actrt_entity_info info = {.struct_size = sizeof info};
    check(actrt_step_describe(step, entity, "step", i, &info));
    void *memory = calloc(1, info.bytes ? info.bytes : 1);
    check(actrt_step_bind(step, "step", entity, info.name, memory, &info.type));
    printf("%s %s: %llu bytes\n", entity == ACTRT_INPUT ? "input" : "output",
           info.name, (unsigned long long)info.bytes);
    if (i == 0) {
      first = memory;
      *elements = info.bytes / sizeof(float);
    }
  }
  return first;
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
  float *in = bind_all(step, ACTRT_INPUT, &n);
  float *out = bind_all(step, ACTRT_OUTPUT, &m);
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
  return actrt_step_run(step, "step") == ACTRT_INVALID_HANDLE ? 0 : 1;
}
