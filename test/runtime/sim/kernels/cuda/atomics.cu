// SPDX-License-Identifier: Apache-2.0
// targets: sm_80 sm_90a
// Atomics and reductions: operations, widths, scopes, orders, state spaces.
#include <cstdint>

#define THREAD unsigned t = blockIdx.x * blockDim.x + threadIdx.x
#define RED(text, at, letter, v)                                               \
  asm volatile(text " [%0], %1;" ::"l"(at), letter(v) : "memory")

// Each result is a commutative sum of what all threads brought.
extern "C" __global__ void reduce32(const int32_t *a, int32_t *out) {
  THREAD;
  int32_t x = a[t];
  RED("red.global.add.s32", out, "r", x);
  RED("red.relaxed.gpu.global.add.u32", out + 1, "r", x);
  RED("red.global.min.s32", out + 2, "r", x);
  RED("red.global.max.s32", out + 3, "r", x);
  RED("red.global.min.u32", out + 4, "r", x);
  RED("red.global.max.u32", out + 5, "r", x);
  RED("red.global.and.b32", out + 6, "r", x);
  RED("red.global.or.b32", out + 7, "r", x);
  RED("red.release.sys.global.xor.b32", out + 8, "r", x);
  RED("red.global.inc.u32", out + 9, "r", 99);
  RED("red.global.dec.u32", out + 10, "r", 49);
  RED("red.gpu.add.u32", out + 11, "r", x);
}

extern "C" __global__ void reduce64(const int64_t *a, int64_t *out) {
  THREAD;
  int64_t x = a[t];
  RED("red.global.add.u64", out, "l", x);
  RED("red.global.min.s64", out + 1, "l", x);
  RED("red.global.max.u64", out + 2, "l", x);
  RED("red.global.and.b64", out + 3, "l", x);
  RED("red.global.or.b64", out + 4, "l", x);
  RED("red.global.xor.b64", out + 5, "l", x);
}

// Small integers: every order of additions gives the same sum.
extern "C" __global__ void reduce_floats(const float *a, float *out,
                                         double *out64, uint32_t *packed,
                                         uint16_t *single) {
  THREAD;
  float x = a[t];
  RED("red.global.add.f32", out, "f", x);
  RED("red.relaxed.sys.global.add.f32", out + 1, "f", x);
  RED("red.global.add.f64", out64, "d", (double)x);
  uint32_t h, b;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(-x), "f"(x));
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;"
      : "=r"(b)
      : "f"(1.0f), "f"(x > 0 ? 1.0f : 0.0f));
  RED("red.global.add.noftz.f16x2", packed, "r", h);
  uint16_t s = (uint16_t)h;
  RED("red.global.add.noftz.f16", single, "h", s);
#if __CUDA_ARCH__ >= 900
  RED("red.global.add.noftz.bf16x2", packed + 1, "r", b);
  s = (uint16_t)b;
  RED("red.global.add.noftz.bf16", single + 1, "h", s);
#else
  if (b == 12345)
    packed[1] = b;
#endif
}

// The old values: each a permutation that only atomicity makes possible.
extern "C" __global__ void tickets(uint32_t *counter, uint32_t *out,
                                   uint32_t *last, uint64_t *wide) {
  THREAD;
  out[t] = atomicAdd(counter, 1);
  uint32_t n = gridDim.x * blockDim.x;
  out[n + t] = atomicExch(last, t + 1);
  uint64_t w;
  asm volatile("atom.acq_rel.gpu.global.cas.b64 %0, [%1], %2, %3;"
               : "=l"(w)
               : "l"(wide + t / 2), "l"((uint64_t)7), "l"((uint64_t)t)
               : "memory");
  out[2 * n + t] = (uint32_t)w;
}

extern "C" __global__ void shared_histogram(const uint8_t *a, uint32_t *out,
                                            uint32_t n) {
  __shared__ uint32_t bins[16];
  __shared__ float weight[16];
  __shared__ unsigned long long total;
  unsigned t = threadIdx.x;
  if (t < 16)
    bins[t] = 0, weight[t] = 0.0f;
  if (t == 0)
    total = 0;
  __syncthreads();
  for (unsigned i = blockIdx.x * blockDim.x + t; i < n;
       i += gridDim.x * blockDim.x) {
    atomicAdd_block(&bins[a[i] & 15], 1u);
    atomicAdd(&weight[a[i] & 15], 0.5f);
    atomicAdd(&total, 1ull << 33);
  }
  __syncthreads();
  if (t < 16) {
    atomicAdd(&out[t], bins[t]);
    atomicAdd(&out[16 + t], (uint32_t)(weight[t] * 2.0f));
  }
  if (t == 0)
    atomicAdd(&out[32], (uint32_t)(total >> 33));
}

// Floating maximum, by compare and swap, as programs do.
extern "C" __global__ void maximum(const float *a, uint32_t *out) {
  THREAD;
  float x = a[t];
  uint32_t old = *(volatile uint32_t *)out;
  while (__uint_as_float(old) < x) {
    uint32_t seen = atomicCAS(out, old, __float_as_uint(x));
    if (seen == old)
      break;
    old = seen;
  }
}

extern "C" __global__ void cas16(uint16_t *cell, uint16_t *out) {
  THREAD;
  uint16_t r, want = 0, mine = (uint16_t)(t + 1);
  asm volatile("atom.global.cas.b16 %0, [%1], %2, %3;"
               : "=h"(r)
               : "l"(cell + t / 4), "h"(want), "h"(mine)
               : "memory");
  out[t] = r == 0;
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void vectors(const float *a, float *out, uint32_t *half,
                                   uint64_t *wide, uint32_t *won) {
  THREAD;
  float x = a[t];
  asm volatile("red.global.v4.f32.add [%0], {%1, %2, %3, %4};" ::"l"(out),
               "f"(x), "f"(2 * x), "f"(-x), "f"(1.0f)
               : "memory");
  asm volatile(
      "red.relaxed.gpu.global.v2.f32.add [%0], {%1, %2};" ::"l"(out + 4),
      "f"(x), "f"(x + 1)
      : "memory");
  uint32_t h;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(-x), "f"(x));
  asm volatile("red.global.v2.f16x2.add.noftz [%0], {%1, %2};" ::"l"(half),
               "r"(h), "r"(h ^ 0x80008000u)
               : "memory");
  uint64_t lo = 0, hi = 0, rlo, rhi, nlo = t + 1, nhi = ~(uint64_t)t;
  asm volatile("{.reg .b128 c, s, r;\n\tmov.b128 c, {%3, %4};\n\t"
               "mov.b128 s, {%5, %6};\n\t"
               "atom.global.cas.b128 r, [%2], c, s;\n\tmov.b128 {%0, %1}, r;}"
               : "=l"(rlo), "=l"(rhi)
               : "l"(wide + t / 8 * 2), "l"(lo), "l"(hi), "l"(nlo), "l"(nhi)
               : "memory");
  won[t] = rlo == 0 && rhi == 0;
}
#endif
