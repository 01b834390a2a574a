// SPDX-License-Identifier: Apache-2.0
// targets: sm_89 sm_90a
// Conversions to and from the two formats of eight bits.
#include <cstdint>

#define THREAD unsigned t = blockIdx.x * blockDim.x + threadIdx.x
#define TO(row, text)                                                          \
  {                                                                            \
    uint16_t r;                                                                \
    asm volatile(text : "=h"(r) : IN);                                         \
    out[(row) * n + t] = r;                                                    \
  }

extern "C" __global__ void to_fp8(const float *a, const float *b,
                                  const uint32_t *pairs, uint16_t *out,
                                  uint32_t n) {
  THREAD;
#define IN "f"(a[t]), "f"(b[t])
  TO(0, "cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;")
  TO(1, "cvt.rn.satfinite.relu.e4m3x2.f32 %0, %1, %2;")
  TO(2, "cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;")
#undef IN
#define IN "r"(pairs[t])
  TO(3, "cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;")
  TO(4, "cvt.rn.satfinite.e5m2x2.f16x2 %0, %1;")
#undef IN
}

extern "C" __global__ void from_fp8(const uint16_t *a, uint32_t *out,
                                    uint32_t n) {
  THREAD;
  uint32_t r;
  asm volatile("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(r) : "h"(a[t]));
  out[t] = r;
  asm volatile("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(r) : "h"(a[t]));
  out[n + t] = r;
  asm volatile("cvt.rn.relu.f16x2.e5m2x2 %0, %1;" : "=r"(r) : "h"(a[t]));
  out[2 * n + t] = r;
}
