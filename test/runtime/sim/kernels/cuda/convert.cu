// SPDX-License-Identifier: Apache-2.0
// targets: sm_80 sm_90a
// flags: -O3
// Conversions between the numbers of 8 to 64 bits.
#include <cstdint>

#define THREAD unsigned t = blockIdx.x * blockDim.x + threadIdx.x
#define TO(row, letter, type, text)                                            \
  {                                                                            \
    type r;                                                                    \
    asm volatile(text : "=" letter(r) : IN);                                   \
    out[(row) * n + t] = r;                                                    \
  }

extern "C" __global__ void narrow(const float *a, const float *b, uint32_t *out,
                                  uint32_t n) {
  THREAD;
  float x = a[t], y = b[t];
#define IN "f"(x), "f"(y)
  TO(0, "h", uint16_t, "cvt.rn.f16.f32 %0, %1;")
  TO(1, "h", uint16_t, "cvt.rz.f16.f32 %0, %1;")
  TO(2, "h", uint16_t, "cvt.rn.relu.f16.f32 %0, %1;")
  TO(3, "r", uint32_t, "cvt.rn.f16x2.f32 %0, %1, %2;")
  TO(4, "r", uint32_t, "cvt.rz.relu.f16x2.f32 %0, %1, %2;")
  TO(5, "h", uint16_t, "cvt.rn.bf16.f32 %0, %1;")
  TO(6, "h", uint16_t, "cvt.rz.bf16.f32 %0, %1;")
  TO(7, "r", uint32_t, "cvt.rn.bf16x2.f32 %0, %1, %2;")
  TO(8, "r", uint32_t, "cvt.rn.relu.bf16x2.f32 %0, %1, %2;")
  TO(9, "r", uint32_t, "cvt.rna.tf32.f32 %0, %1;")
  TO(10, "h", uint16_t, "cvt.rm.f16.f32 %0, %1;")
  TO(11, "h", uint16_t, "cvt.rp.f16.f32 %0, %1;")
#if __CUDA_ARCH__ >= 900
  TO(12, "r", uint32_t, "cvt.rn.tf32.f32 %0, %1;")
  TO(13, "r", uint32_t, "cvt.rz.relu.tf32.f32 %0, %1;")
#endif
#undef IN
}

extern "C" __global__ void float_to_integer(const float *a, const double *b,
                                            int64_t *out, uint32_t n) {
  THREAD;
  float x = a[t];
  double y = b[t];
#define IN "f"(x)
  TO(0, "r", int32_t, "cvt.rni.s32.f32 %0, %1;")
  TO(1, "r", int32_t, "cvt.rzi.s32.f32 %0, %1;")
  TO(2, "r", int32_t, "cvt.rmi.s32.f32 %0, %1;")
  TO(3, "r", int32_t, "cvt.rpi.s32.f32 %0, %1;")
  TO(4, "r", uint32_t, "cvt.rzi.u32.f32 %0, %1;")
  TO(5, "h", int16_t, "cvt.rni.s16.f32 %0, %1;")
  TO(6, "l", int64_t, "cvt.rmi.s64.f32 %0, %1;")
#undef IN
#define IN "d"(y)
  TO(7, "r", int32_t, "cvt.rni.s32.f64 %0, %1;")
  TO(8, "r", uint32_t, "cvt.rpi.u32.f64 %0, %1;")
  TO(9, "l", int64_t, "cvt.rzi.s64.f64 %0, %1;")
#undef IN
}

extern "C" __global__ void integer_to_float(const int64_t *a, float *out,
                                            double *out64, uint16_t *out16,
                                            uint32_t n) {
  THREAD;
  int64_t x = a[t];
  int32_t w = (int32_t)x;
#define IN "r"(w)
  TO(0, "f", float, "cvt.rn.f32.s32 %0, %1;")
  TO(1, "f", float, "cvt.rz.f32.u32 %0, %1;")
  TO(2, "f", float, "cvt.rm.f32.s32 %0, %1;")
  TO(3, "f", float, "cvt.rp.f32.s32 %0, %1;")
  TO(4, "f", float, "cvt.rn.f32.u8 %0, %1;")
  TO(5, "f", float, "cvt.rn.f32.s8 %0, %1;")
#undef IN
#define IN "l"(x)
  TO(6, "f", float, "cvt.rn.f32.s64 %0, %1;")
  TO(7, "f", float, "cvt.rp.f32.u64 %0, %1;")
  double d;
  asm volatile("cvt.rn.f64.s64 %0, %1;" : "=d"(d) : "l"(x));
  out64[t] = d;
  asm volatile("cvt.rz.f64.u64 %0, %1;" : "=d"(d) : "l"(x));
  out64[n + t] = d;
  asm volatile("cvt.rn.f64.s32 %0, %1;" : "=d"(d) : "r"(w));
  out64[2 * n + t] = d;
  uint16_t h;
  asm volatile("cvt.rn.f16.s32 %0, %1;" : "=h"(h) : "r"(w));
  out16[t] = h;
  asm volatile("cvt.rz.f16.u16 %0, %1;" : "=h"(h) : "h"((int16_t)w));
  out16[n + t] = h;
#undef IN
}

extern "C" __global__ void whole(const float *a, const double *b, float *out,
                                 double *out64, uint32_t n) {
  THREAD;
  float x = a[t];
#define IN "f"(x)
  TO(0, "f", float, "cvt.rni.f32.f32 %0, %1;")
  TO(1, "f", float, "cvt.rzi.f32.f32 %0, %1;")
  TO(2, "f", float, "cvt.rmi.f32.f32 %0, %1;")
  TO(3, "f", float, "cvt.rpi.f32.f32 %0, %1;")
  TO(4, "f", float, "cvt.sat.f32.f32 %0, %1;")
  TO(5, "f", float, "cvt.ftz.f32.f32 %0, %1;")
#undef IN
  float r;
  asm volatile("cvt.rn.f32.f64 %0, %1;" : "=f"(r) : "d"(b[t]));
  out[6 * n + t] = r;
  asm volatile("cvt.rm.f32.f64 %0, %1;" : "=f"(r) : "d"(b[t]));
  out[7 * n + t] = r;
  double d;
  asm volatile("cvt.rni.f64.f64 %0, %1;" : "=d"(d) : "d"(b[t]));
  out64[t] = d;
  asm volatile("cvt.f64.f32 %0, %1;" : "=d"(d) : "f"(x));
  out64[n + t] = d;
}

extern "C" __global__ void widen(const uint16_t *a, float *out, double *out64,
                                 uint32_t n) {
  THREAD;
  uint16_t x = a[t];
#define IN "h"(x)
  TO(0, "f", float, "cvt.f32.f16 %0, %1;")
  TO(1, "f", float, "cvt.f32.bf16 %0, %1;")
#undef IN
  double d;
  asm volatile("cvt.f64.f16 %0, %1;" : "=d"(d) : "h"(x));
  out64[t] = d;
}

extern "C" __global__ void integers(const int64_t *a, int64_t *out,
                                    uint32_t n) {
  THREAD;
  int64_t x = a[t];
  int32_t w = (int32_t)x, y = (int32_t)(x >> 32);
#define IN "r"(w), "r"(y)
  TO(0, "r", int32_t, "cvt.s8.s32 %0, %1;")
  TO(1, "r", uint32_t, "cvt.u8.s32 %0, %1;")
  TO(2, "r", int32_t, "cvt.sat.s8.s32 %0, %1;")
  TO(3, "r", uint32_t, "cvt.sat.u8.s32 %0, %1;")
  TO(4, "h", int16_t, "cvt.s16.s32 %0, %1;")
  TO(5, "h", uint16_t, "cvt.sat.u16.s32 %0, %1;")
  TO(6, "l", int64_t, "cvt.s64.s32 %0, %1;")
  TO(7, "l", int64_t, "cvt.u64.u32 %0, %1;")
  TO(8, "r", uint32_t, "cvt.pack.sat.s16.s32 %0, %1, %2;")
  TO(9, "r", uint32_t, "cvt.pack.sat.u8.s32.b32 %0, %1, %2, %1;")
#undef IN
#define IN "l"(x)
  TO(10, "r", int32_t, "cvt.u32.u64 %0, %1;")
  TO(11, "r", int32_t, "cvt.sat.s32.s64 %0, %1;")
  TO(12, "r", uint32_t, "cvt.sat.u32.s64 %0, %1;")
#undef IN
}
