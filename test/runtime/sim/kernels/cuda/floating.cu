// SPDX-License-Identifier: Apache-2.0
// targets: sm_80 sm_86 sm_90a
// flags: -O3
// f32 and f64 arithmetic with every rounding, one result row per instruction.
#include <cstdint>

#define THREAD unsigned t = blockIdx.x * blockDim.x + threadIdx.x
#define OP1(row, op)                                                           \
  {                                                                            \
    FLOAT r;                                                                   \
    asm volatile(op " %0, %1;" : R(r) : V(x));                                 \
    out[(row) * n + t] = r;                                                    \
  }
#define OP2(row, op)                                                           \
  {                                                                            \
    FLOAT r;                                                                   \
    asm volatile(op " %0, %1, %2;" : R(r) : V(x), V(y));                       \
    out[(row) * n + t] = r;                                                    \
  }
#define OP3(row, op)                                                           \
  {                                                                            \
    FLOAT r;                                                                   \
    asm volatile(op " %0, %1, %2, %3;" : R(r) : V(x), V(y), V(z));             \
    out[(row) * n + t] = r;                                                    \
  }

#define FLOAT float
#define R(r) "=f"(r)
#define V(v) "f"(v)
extern "C" __global__ void arithmetic32(const float *a, const float *b,
                                        const float *c, float *out,
                                        uint32_t n) {
  THREAD;
  float x = a[t], y = b[t], z = c[t];
  OP2(0, "add.rn.f32")
  OP2(1, "add.rz.f32")
  OP2(2, "add.rm.f32")
  OP2(3, "add.rp.f32")
  OP2(4, "add.ftz.f32")
  OP2(5, "add.sat.f32")
  OP2(6, "sub.rn.f32")
  OP2(7, "sub.rp.f32")
  OP2(8, "mul.rn.f32")
  OP2(9, "mul.rz.f32")
  OP2(10, "mul.rm.f32")
  OP2(11, "mul.rp.f32")
  OP2(12, "mul.ftz.f32")
  OP2(13, "mul.ftz.sat.f32")
  OP3(14, "fma.rn.f32")
  OP3(15, "fma.rz.f32")
  OP3(16, "fma.rm.f32")
  OP3(17, "fma.rp.f32")
  OP3(18, "fma.rn.ftz.f32")
  OP3(19, "fma.rn.sat.f32")
  OP2(20, "div.rn.f32")
  OP2(21, "div.rz.f32")
  OP2(22, "div.rp.f32")
  OP2(23, "div.rn.ftz.f32")
}

extern "C" __global__ void select32(const float *a, const float *b,
                                    const float *c, float *out, uint32_t n) {
  THREAD;
  float x = a[t], y = b[t], z = c[t];
  OP2(0, "min.f32")
  OP2(1, "max.f32")
  OP2(2, "min.NaN.f32")
  OP2(3, "max.NaN.f32")
#if __CUDA_ARCH__ >= 860
  OP2(4, "min.xorsign.abs.f32")
#endif
  OP2(5, "max.ftz.f32")
  OP2(6, "copysign.f32")
  OP1(7, "neg.f32")
  OP1(8, "abs.f32")
  OP1(9, "neg.ftz.f32")
  OP1(10, "abs.ftz.f32")
  OP3(11, "slct.f32.f32")
  OP1(12, "sqrt.rn.f32")
  OP1(13, "sqrt.rm.f32")
  OP1(14, "rcp.rn.f32")
  OP1(15, "rcp.rz.ftz.f32")
}
#undef FLOAT
#undef R
#undef V

#define FLOAT double
#define R(r) "=d"(r)
#define V(v) "d"(v)
extern "C" __global__ void arithmetic64(const double *a, const double *b,
                                        const double *c, double *out,
                                        uint32_t n) {
  THREAD;
  double x = a[t], y = b[t], z = c[t];
  OP2(0, "add.rn.f64")
  OP2(1, "add.rm.f64")
  OP2(2, "sub.rz.f64")
  OP2(3, "mul.rn.f64")
  OP2(4, "mul.rp.f64")
  OP3(5, "fma.rn.f64")
  OP3(6, "fma.rz.f64")
  OP2(7, "div.rn.f64")
  OP2(8, "div.rm.f64")
  OP1(9, "sqrt.rn.f64")
  OP1(10, "rcp.rn.f64")
  OP2(11, "min.f64")
  OP2(12, "max.f64")
  OP1(13, "neg.f64")
  OP1(14, "abs.f64")
  OP2(15, "copysign.f64")
}

// Comparisons: ordered, unordered, num and nan, and the classes of testp.
extern "C" __global__ void compare32(const float *a, const float *b,
                                     uint32_t *out, uint32_t n) {
  THREAD;
  float x = a[t], y = b[t];
  uint32_t bits = 0, r;
#define CMP(i, op)                                                             \
  asm volatile("{\n\t.reg .pred p;\n\tsetp." op                                \
               ".f32 p, %1, %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"                 \
               : "=r"(r)                                                       \
               : "f"(x), "f"(y));                                              \
  bits |= r << i;
  CMP(0, "eq")
  CMP(1, "ne")
  CMP(2, "lt")
  CMP(3, "le")
  CMP(4, "gt")
  CMP(5, "ge")
  CMP(6, "equ")
  CMP(7, "neu")
  CMP(8, "ltu")
  CMP(9, "leu")
  CMP(10, "gtu")
  CMP(11, "geu")
  CMP(12, "num")
  CMP(13, "nan")
  CMP(14, "eq.ftz")
#define TEST(i, op)                                                            \
  asm volatile("{\n\t.reg .pred p;\n\ttestp." op                               \
               ".f32 p, %1;\n\tselp.u32 %0, 1, 0, p;\n\t}"                     \
               : "=r"(r)                                                       \
               : "f"(x));                                                      \
  bits |= r << i;
  TEST(16, "finite")
  TEST(17, "infinite")
  TEST(18, "number")
  TEST(19, "notanumber")
  TEST(20, "normal")
  TEST(21, "subnormal")
  out[t] = bits;
}
