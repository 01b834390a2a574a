/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACT_TEST_RUNTIME_FAKECUDA_H
#define ACT_TEST_RUNTIME_FAKECUDA_H
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define API __attribute__((visibility("default")))
enum { FAKE_PARAMETER_BYTES = 256 };

/* One launch: the parameters' values, each at a multiple of 8 bytes. */
struct fake_launch {
  unsigned grid[3], block[3], cluster;
  int (*run)(const struct fake_launch *); /* 0: failed */
  uint64_t *state;                        /* the module's variable `table` */
  unsigned char parameters[FAKE_PARAMETER_BYTES];
};

/* A kernel of a file in ptx, as a loop over its blocks and threads. */
struct fake_kernel {
  const char *name;
  int shared_bytes;
  size_t parameters[6]; /* sizes, up to the first 0 */
  int (*run)(const struct fake_launch *);
};
extern const struct fake_kernel fake_kernels[]; /* up to a null name */

API long fake_cuda_calls(const char *name);
/* 0 memory, 1 streams, 2 events, 3 modules, 4 graphs, 5 contexts */
API long fake_cuda_live(int kind);
#endif
