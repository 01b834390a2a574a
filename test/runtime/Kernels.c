/* SPDX-License-Identifier: Apache-2.0
 *
 * Host kernels that the tests put into steps made by hand. Compiled to a shared
 * object by the C compiler, as the act compiler's are by LLVM. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef void *const *args_t;
#define KERNEL __attribute__((visibility("default"))) void

/* ---- arithmetic on blocks of 16 floats -------------------------------- */

/* out = scale * in + 1 */
KERNEL scale_add(args_t a, int64_t block) {
  const float *in = a[0];
  float *out = a[1];
  float scale = *(const float *)a[2];
  for (int i = 0; i < 16; ++i)
    out[16 * block + i] = scale * in[16 * block + i] + 1;
}

/* out = x + y */
KERNEL add(args_t a, int64_t block) {
  const float *x = a[0], *y = a[1];
  float *out = a[2];
  for (int i = 0; i < 16; ++i)
    out[16 * block + i] = x[16 * block + i] + y[16 * block + i];
}

/* The same through the thread's scratch, which must hold 16 floats. */
KERNEL add_by_scratch(args_t a, int64_t block) {
  const float *x = a[0], *y = a[1];
  float *out = a[2], *scratch = a[3];
  for (int i = 0; i < 16; ++i)
    scratch[i] = x[16 * block + i] + y[16 * block + i];
  memcpy(out + 16 * block, scratch, 16 * sizeof(float));
}

/* Obtains memory behind everyone's back. */
KERNEL add_with_malloc(args_t a, int64_t block) {
  void *hidden = malloc(1000);
  add(a, block);
  *(volatile float *)hidden = 1;
  free(hidden);
}

/* Counts how often each block ran: int32 counts[grid]. */
KERNEL count_block(args_t a, int64_t block) {
  __atomic_fetch_add((int32_t *)a[0] + block, 1, __ATOMIC_RELAXED);
}

KERNEL scalars(args_t a, int64_t block) {
  double *out = a[0];
  out[0] = *(const float *)a[1];
  out[1] = *(const double *)a[2];
  out[2] = (double)*(const int64_t *)a[3];
  out[3] = (double)*(const int32_t *)a[4];
}

/* ---- a bigram model: logits of the next token = table[token] ------------ */

/* a: tokens i32[n], labels i32[n], table f32[V,V], probs f32[n,V],
 * losses f32[n], V; one block per token */
KERNEL bigram_forward(args_t a, int64_t i) {
  const int32_t *tokens = a[0], *labels = a[1];
  const float *table = a[2];
  float *probs = a[3], *losses = a[4];
  int64_t v = *(const int64_t *)a[5];
  const float *row = table + tokens[i] * v;
  float most = row[0], sum = 0;
  for (int64_t j = 1; j < v; ++j)
    most = row[j] > most ? row[j] : most;
  for (int64_t j = 0; j < v; ++j)
    sum += probs[i * v + j] = expf(row[j] - most);
  for (int64_t j = 0; j < v; ++j)
    probs[i * v + j] /= sum;
  losses[i] = labels[i] < 0 ? 0 : -logf(probs[i * v + labels[i]]);
}

/* a: losses f32[n], labels i32[n], loss f32[], n; one block */
KERNEL mean_loss(args_t a, int64_t block) {
  const float *losses = a[0];
  const int32_t *labels = a[1];
  int64_t n = *(const int64_t *)a[3], counted = 0;
  float sum = 0;
  for (int64_t i = 0; i < n; ++i)
    if (labels[i] >= 0) {
      sum += losses[i];
      ++counted;
    }
  *(float *)a[2] = sum / (float)counted;
}

/* a: tokens, labels, probs, gradient f32[V,V], n, V, seed i64, step i64; one
 * block per row of the table. The noise makes seed and step matter. */
KERNEL bigram_gradient(args_t a, int64_t row) {
  const int32_t *tokens = a[0], *labels = a[1];
  const float *probs = a[2];
  int64_t n = *(const int64_t *)a[4], v = *(const int64_t *)a[5];
  float *gradient = (float *)a[3] + row * v;
  uint64_t noise = (uint64_t)*(const int64_t *)a[6] * 31 +
                   (uint64_t)*(const int64_t *)a[7] * 17 + (uint64_t)row;
  for (int64_t j = 0; j < v; ++j)
    gradient[j] = 1e-6f * (float)(noise % 7);
  for (int64_t i = 0; i < n; ++i)
    if (tokens[i] == row && labels[i] >= 0) {
      for (int64_t j = 0; j < v; ++j)
        gradient[j] += probs[i * v + j] / (float)n;
      gradient[labels[i]] -= 1 / (float)n;
    }
}

/* a: table, momentum, gradient, lr f32, V; one block per row */
KERNEL momentum_update(args_t a, int64_t row) {
  int64_t v = *(const int64_t *)a[4];
  float *table = (float *)a[0] + row * v, *m = (float *)a[1] + row * v;
  const float *gradient = (const float *)a[2] + row * v;
  float lr = *(const float *)a[3];
  for (int64_t j = 0; j < v; ++j) {
    m[j] = 0.9f * m[j] + gradient[j];
    table[j] -= lr * m[j];
  }
}

/* a: tokens, table, logits f32[n,V], V; one block per token */
KERNEL bigram_logits(args_t a, int64_t i) {
  const int32_t *tokens = a[0];
  int64_t v = *(const int64_t *)a[3];
  memcpy((float *)a[2] + i * v, (const float *)a[1] + tokens[i] * v,
         (size_t)v * sizeof(float));
}
