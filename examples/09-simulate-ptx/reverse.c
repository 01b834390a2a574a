/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a kernel of a PTX file on a simulated GPU and prints what it computed.
 * With "cuda:0" in place of "sim:sm_80" the same program runs on a card.
 *
 *   reverse FILE.ptx
 */
#include "act-c/Runtime.h"
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 2, THREADS = 64, COUNT = BLOCKS * THREADS };

/* A launch that a check objects to fails, with the finding as its message. */
static void check(actrt_status status) {
  if (status != ACTRT_SUCCESS) {
    fprintf(stderr, "error %d: %s\n", (int)status, actrt_last_error());
    exit(1);
  }
}

static char *readAll(const char *path, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  char *text = NULL;
  long size;
  if (file && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 &&
      (text = malloc((size_t)size + 1))) {
    rewind(file);
    *bytes = fread(text, 1, (size_t)size, file);
  }
  if (file)
    fclose(file);
  return text;
}

int main(int argc, char **argv) {
  float x[COUNT], y[COUNT];
  size_t bytes;
  char *ptx = argc == 2 ? readAll(argv[1], &bytes) : NULL;
  actrt_device device;
  actrt_module module;
  actrt_function function;
  actrt_stream stream;
  void *from, *to;
  if (!ptx || actrt_version() >> 16 != ACTRT_VERSION_MAJOR) {
    fprintf(stderr, "usage: reverse FILE.ptx\n");
    return 2;
  }
  for (int i = 0; i < COUNT; ++i)
    x[i] = (float)i;

  check(actrt_device_open("sim:sm_80", NULL, &device));
  check(actrt_module_load(device, ptx, bytes, 0, &module));
  check(actrt_function_get(module, "reverse", &function));
  check(actrt_stream_create(device, &stream));
  check(actrt_allocate(device, sizeof x, &from));
  check(actrt_allocate(device, sizeof y, &to));
  check(actrt_copy(stream, from, x, sizeof x, ACTRT_HOST_TO_DEVICE));

  actrt_launch_shape shape = {.struct_size = sizeof shape,
                              .grid = {BLOCKS, 1, 1},
                              .block = {THREADS, 1, 1}};
  actrt_argument arguments[] = {{ACTRT_POINTER, 0, {.pointer = from}},
                                {ACTRT_POINTER, 0, {.pointer = to}}};
  check(actrt_launch(function, stream, &shape, arguments, 2));
  check(actrt_copy(stream, y, to, sizeof y, ACTRT_DEVICE_TO_HOST));
  check(actrt_stream_synchronize(stream));

  for (int i = 0; i < COUNT; ++i)
    printf("%g%c", y[i], i % 16 == 15 ? '\n' : ' ');
  check(actrt_function_release(function));
  check(actrt_module_release(module));
  check(actrt_stream_release(stream));
  check(actrt_device_release(device));
  free(ptx);
  return 0;
}
