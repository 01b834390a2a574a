// SPDX-License-Identifier: Apache-2.0
// targets: sm_80 sm_86 sm_90a
// flags: -O3
// f16 and bf16 arithmetic, single and packed, one result row per instruction.
#include <cstdint>

#define THREAD unsigned t = blockIdx.x * blockDim.x + threadIdx.x
#define H(row, text)                                                           \
  {                                                                            \
    uint16_t r;                                                                \
    asm volatile(text : "=h"(r) : "h"(x), "h"(y), "h"(z));                     \
    out[(row) * n + t] = r;                                                    \
  }
#define PACKED(row, text)                                                      \
  {                                                                            \
    uint32_t r;                                                                \
    asm volatile(text : "=r"(r) : "r"(xx), "r"(yy), "r"(zz));                  \
    out[(row) * n + t] = (uint16_t)r;                                          \
    out[((row) + 1) * n + t] = (uint16_t)(r >> 16);                            \
  }
#define LOAD                                                                   \
  THREAD;                                                                      \
  uint16_t x = a[t], y = b[t], z = c[t];                                       \
  uint32_t xx = x | (uint32_t)a[t ^ 1] << 16,                                  \
           yy = y | (uint32_t)b[t ^ 1] << 16,                                  \
           zz = z | (uint32_t)c[t ^ 1] << 16

extern "C" __global__ void f16(const uint16_t *a, const uint16_t *b,
                               const uint16_t *c, uint16_t *out, uint32_t n) {
  LOAD;
  H(0, "add.rn.f16 %0, %1, %2;")
  H(1, "sub.f16 %0, %1, %2;")
  H(2, "mul.rn.f16 %0, %1, %2;")
  H(3, "fma.rn.f16 %0, %1, %2, %3;")
  H(4, "fma.rn.sat.f16 %0, %1, %2, %3;")
  H(5, "fma.rn.relu.f16 %0, %1, %2, %3;")
  H(6, "fma.rn.ftz.f16 %0, %1, %2, %3;")
  H(7, "min.f16 %0, %1, %2;")
  H(8, "max.NaN.f16 %0, %1, %2;")
  H(9, "neg.f16 %0, %1;")
  H(10, "abs.f16 %0, %1;")
  H(11, "add.sat.f16 %0, %1, %2;")
  H(12, "mul.ftz.f16 %0, %1, %2;")
  H(13, "{.reg .pred p;\n\tsetp.gt.f16 p, %1, %2;\n\tselp.b16 %0, %1, %3, p;}")
  PACKED(14, "add.f16x2 %0, %1, %2;")
  PACKED(16, "sub.rn.f16x2 %0, %1, %2;")
  PACKED(18, "mul.f16x2 %0, %1, %2;")
  PACKED(20, "fma.rn.f16x2 %0, %1, %2, %3;")
  PACKED(22, "fma.rn.relu.f16x2 %0, %1, %2, %3;")
  PACKED(24, "max.f16x2 %0, %1, %2;")
  PACKED(26, "min.NaN.f16x2 %0, %1, %2;")
  PACKED(28, "neg.f16x2 %0, %1;")
  PACKED(30, "abs.f16x2 %0, %1;")
  PACKED(32, "{.reg .pred p, q;\n\tsetp.lt.f16x2 p|q, %1, %2;\n\t"
             "selp.b32 %0, 1, 0, p;\n\t@q or.b32 %0, %0, 65536;}")
}

extern "C" __global__ void bf16(const uint16_t *a, const uint16_t *b,
                                const uint16_t *c, uint16_t *out, uint32_t n) {
  LOAD;
  H(0, "fma.rn.bf16 %0, %1, %2, %3;")
  H(1, "fma.rn.relu.bf16 %0, %1, %2, %3;")
  H(2, "min.bf16 %0, %1, %2;")
  H(3, "max.NaN.bf16 %0, %1, %2;")
  H(4, "neg.bf16 %0, %1;")
  H(5, "abs.bf16 %0, %1;")
  PACKED(6, "fma.rn.bf16x2 %0, %1, %2, %3;")
  PACKED(8, "max.bf16x2 %0, %1, %2;")
  PACKED(10, "min.NaN.bf16x2 %0, %1, %2;")
  PACKED(12, "neg.bf16x2 %0, %1;")
  PACKED(14, "abs.bf16x2 %0, %1;")
#if __CUDA_ARCH__ >= 900
  H(16, "add.rn.bf16 %0, %1, %2;")
  H(17, "sub.bf16 %0, %1, %2;")
  H(18, "mul.bf16 %0, %1, %2;")
  H(19, "{.reg .pred p;\n\tsetp.gt.bf16 p, %1, %2;\n\tselp.b16 %0, %1, %3, p;}")
  PACKED(20, "add.bf16x2 %0, %1, %2;")
  PACKED(22, "sub.rn.bf16x2 %0, %1, %2;")
  PACKED(24, "mul.bf16x2 %0, %1, %2;")
#endif
}

#if __CUDA_ARCH__ >= 860
extern "C" __global__ void xorsign(const uint16_t *a, const uint16_t *b,
                                   const uint16_t *c, uint16_t *out,
                                   uint32_t n) {
  LOAD;
  H(0, "min.xorsign.abs.f16 %0, %1, %2;")
  H(1, "max.NaN.xorsign.abs.f16 %0, %1, %2;")
  PACKED(2, "max.xorsign.abs.f16x2 %0, %1, %2;")
}
#endif
