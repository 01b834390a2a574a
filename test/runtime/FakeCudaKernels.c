/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kernels of ptx/conformance*.ptx and ptx/arithmetic.ptx do, and `add` of
 * test/tools/Inputs/plain-kernels.mlir by another name, for FakeCuda.c. */
#include "FakeCuda.h"
#include <string.h>

static uint64_t word(const struct fake_launch *l, int i) {
  uint64_t v;
  memcpy(&v, l->parameters + 8 * i, 8);
  return v;
}

static int count_block(const struct fake_launch *l) {
  uint32_t *counts = (uint32_t *)word(l, 0);
  for (unsigned b = 0; b < l->grid[0]; ++b)
    __atomic_fetch_add(&counts[b], 1, __ATOMIC_RELAXED);
  return 1;
}
static int scalars(const struct fake_launch *l) {
  double *out = (double *)word(l, 0);
  float f;
  int32_t i;
  memcpy(&f, l->parameters + 8, 4);
  out[0] = f;
  memcpy(&out[1], l->parameters + 16, 8);
  out[2] = (double)(int64_t)word(l, 3);
  memcpy(&i, l->parameters + 32, 4);
  out[3] = i;
  return 1;
}
static int by_value(const struct fake_launch *l) {
  uint64_t *out = (uint64_t *)word(l, 0);
  memcpy(out, l->parameters + 8, 24);
  out[3] = word(l, 4) & 0xffff;
  return 1;
}
static int read_table(const struct fake_launch *l) {
  memcpy((void *)word(l, 0), l->state, 8 * l->block[0]);
  return 1;
}
static int reverse(const struct fake_launch *l) {
  uint32_t *out = (uint32_t *)word(l, 0);
  for (unsigned t = 0; t < l->block[0]; ++t)
    out[t] = l->block[0] - t - 1;
  return 1;
}
static int store_at(const struct fake_launch *l) {
  uint32_t seven = 7;
  memcpy((char *)word(l, 0) + (int64_t)word(l, 1), &seven, 4);
  return 1;
}
static int demanding(const struct fake_launch *l) {
  return l->block[0] == 64 && l->block[1] == 2;
}
static int rank(const struct fake_launch *l) {
  uint32_t *out = (uint32_t *)word(l, 0);
  for (unsigned b = 0; b < l->grid[0]; ++b)
    out[b] = 100 * l->cluster + b % l->cluster;
  return 1;
}
static int scale_add(const struct fake_launch *l) {
  const float *in = (const float *)word(l, 0);
  float *out = (float *)word(l, 1), scale = *(const float *)word(l, 2);
  for (unsigned i = 0; i < l->grid[0] * l->block[0]; ++i)
    out[i] = scale * in[i] + 1;
  return l->block[0] == 16;
}
static int add(const struct fake_launch *l) {
  const float *x = (const float *)word(l, 0), *y = (const float *)word(l, 1);
  float *out = (float *)word(l, 2);
  for (unsigned i = 0; i < l->grid[0] * l->block[0]; ++i)
    out[i] = x[i] + y[i];
  return l->block[0] == 16;
}

static int add_some(const struct fake_launch *l) {
  const float *x = (const float *)word(l, 0), *y = (const float *)word(l, 1);
  float *out = (float *)word(l, 2);
  for (unsigned i = 0; i < (uint32_t)word(l, 3); ++i)
    out[i] = x[i] + y[i];
  return l->grid[0] == 8 && l->block[0] == 128;
}

const struct fake_kernel fake_kernels[] = {
    {"count_block", 0, {8}, count_block},
    {"scalars", 0, {8, 4, 8, 8, 4}, scalars},
    {"by_value", 0, {8, 24, 2}, by_value},
    {"read_table", 0, {8}, read_table},
    {"reverse", 0, {8}, reverse},
    {"store_at", 0, {8, 8}, store_at},
    {"demanding", 512, {8}, demanding},
    {"rank", 0, {8}, rank},
    {"pairs", 0, {8}, rank},
    {"scale_add", 0, {8, 8, 8}, scale_add},
    {"add", 0, {8, 8, 8}, add},
    {"add_some", 0, {8, 8, 8, 4}, add_some},
    {0}};
