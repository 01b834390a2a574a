// SPDX-License-Identifier: Apache-2.0
// targets: sm_80 sm_90a
// The approximate functions, one result row each.
#include <cstdint>

#define THREAD unsigned t = blockIdx.x * blockDim.x + threadIdx.x
#define OP1(row, op)                                                           \
  {                                                                            \
    float r;                                                                   \
    asm volatile(op " %0, %1;" : "=f"(r) : "f"(x));                            \
    out[(row) * n + t] = r;                                                    \
  }

// x is positive and normal.
extern "C" __global__ void positive(const float *a, float *out, uint32_t n) {
  THREAD;
  float x = a[t];
  OP1(0, "rcp.approx.f32")
  OP1(1, "rcp.approx.ftz.f32")
  OP1(2, "sqrt.approx.f32")
  OP1(3, "sqrt.approx.ftz.f32")
  OP1(4, "rsqrt.approx.f32")
  OP1(5, "rsqrt.approx.ftz.f32")
  OP1(6, "lg2.approx.f32")
  OP1(7, "lg2.approx.ftz.f32")
}

extern "C" __global__ void moderate(const float *a, const float *b, float *out,
                                    uint32_t n) {
  THREAD;
  float x = a[t], y = b[t], r;
  OP1(0, "ex2.approx.f32")
  OP1(1, "ex2.approx.ftz.f32")
  OP1(2, "tanh.approx.f32")
  OP1(3, "sin.approx.f32")
  OP1(4, "cos.approx.f32")
  asm volatile("div.approx.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
  out[5 * n + t] = r;
  asm volatile("div.full.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
  out[6 * n + t] = r;
  asm volatile("div.approx.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
  out[7 * n + t] = r;
}

// Zeros, infinities, NaN, subnormals: these results are exact.
extern "C" __global__ void special(const float *a, float *out, uint32_t n) {
  THREAD;
  float x = a[t];
  OP1(0, "rcp.approx.ftz.f32")
  OP1(1, "rsqrt.approx.ftz.f32")
  OP1(2, "sqrt.approx.ftz.f32")
  OP1(3, "lg2.approx.ftz.f32")
  OP1(4, "ex2.approx.ftz.f32")
}

extern "C" __global__ void half(const uint16_t *a, const uint16_t *b,
                                uint16_t *out, uint32_t n) {
  THREAD;
  uint16_t r;
  uint32_t w;
  asm volatile("ex2.approx.f16 %0, %1;" : "=h"(r) : "h"(a[t]));
  out[t] = r;
  asm volatile("tanh.approx.f16 %0, %1;" : "=h"(r) : "h"(a[t]));
  out[n + t] = r;
  asm volatile("ex2.approx.f16x2 %0, %1;"
               : "=r"(w)
               : "r"(a[t] | a[t ^ 1] << 16));
  out[2 * n + t] = (uint16_t)(w >> 16);
#if __CUDA_ARCH__ >= 900
  asm volatile("ex2.approx.ftz.bf16 %0, %1;" : "=h"(r) : "h"(b[t]));
  out[3 * n + t] = r;
  asm volatile("tanh.approx.bf16 %0, %1;" : "=h"(r) : "h"(b[t]));
  out[4 * n + t] = r;
  asm volatile("tanh.approx.bf16x2 %0, %1;"
               : "=r"(w)
               : "r"(b[t] | b[t ^ 1] << 16));
  out[5 * n + t] = (uint16_t)(w >> 16);
#endif
}
