// SPDX-License-Identifier: Apache-2.0
// targets: sm_80
// Barriers of a thread block: whole, named, counted, reducing, producer and
// consumer.
#include <cstdint>

extern "C" __global__ void whole(const uint32_t *a, uint32_t *out) {
  __shared__ uint32_t s[96];
  unsigned t = threadIdx.x, n = blockDim.x;
  uint32_t x = a[t];
#pragma unroll 1
  for (int i = 0; i < 5; ++i) {
    s[t] = x;
    asm volatile("bar.sync 0;" ::: "memory");
    x = s[(t + 37) % n] * 3 + i;
    asm volatile("barrier.sync 0;" ::: "memory");
  }
  out[t] = x;
}

// Two groups of 64 threads, each with a barrier of its own.
extern "C" __global__ void named(const uint32_t *a, uint32_t *out) {
  __shared__ uint32_t s[128];
  unsigned t = threadIdx.x, group = t / 64, i = t % 64;
  uint32_t x = a[t];
#pragma unroll 1
  for (unsigned k = 0; k < 3 + group; ++k) {
    s[t] = x;
    asm volatile("bar.sync %0, 64;" ::"r"(1 + group) : "memory");
    x += s[group * 64 + (i + 1) % 64];
    asm volatile("bar.sync %0, 64;" ::"r"(1 + group) : "memory");
  }
  out[t] = x;
}

// One warp fills a buffer of two halves, three warps read it: bar.arrive on the
// side that need not wait.
extern "C" __global__ void producer(const uint32_t *a, uint32_t *out, int n) {
  __shared__ uint32_t s[2][32];
  unsigned t = threadIdx.x, lane = t % 32;
  if (t < 32) {
#pragma unroll 1
    for (int i = 0; i < n; ++i) {
      int half = i & 1;
      if (i >= 2)
        asm volatile("bar.sync %0, 128;" ::"r"(3 + half) : "memory"); // empty
      s[half][lane] = a[i * 32 + lane];
      asm volatile("bar.arrive %0, 128;" ::"r"(1 + half) : "memory"); // full
    }
  } else {
    uint32_t sum = 0;
#pragma unroll 1
    for (int i = 0; i < n; ++i) {
      int half = i & 1;
      asm volatile("bar.sync %0, 128;" ::"r"(1 + half) : "memory");
      sum = sum * 5 + s[half][(lane + t / 32) % 32];
      if (i + 2 < n)
        asm volatile("bar.arrive %0, 128;" ::"r"(3 + half) : "memory");
    }
    out[t - 32] = sum;
  }
}

extern "C" __global__ void reducing(const uint32_t *a, uint32_t *out) {
  unsigned t = threadIdx.x, n = blockDim.x;
  out[t] = __syncthreads_count(a[t] > 50);
  out[n + t] = __syncthreads_and(a[t] < 1000);
  out[2 * n + t] = __syncthreads_or(a[t] == 7);
  uint32_t r;
  asm volatile("{.reg .pred p;\n\tsetp.gt.u32 p, %1, 20;\n\t"
               "barrier.cta.red.popc.u32 %0, 2, 64, p;}"
               : "=r"(r)
               : "r"(a[t])
               : "memory");
  out[3 * n + t] = r;
}

// Lanes of a warp come to the same barrier from two sides of a branch.
extern "C" __global__ void divergent(const uint32_t *a, uint32_t *out) {
  __shared__ uint32_t s[64];
  unsigned t = threadIdx.x;
  s[t] = a[t];
  uint32_t x;
  if (t % 3 == 0) {
    asm volatile("barrier.sync 5, 64;" ::: "memory");
    x = s[63 - t] + 1;
  } else {
    asm volatile("barrier.sync 5, 64;" ::: "memory");
    x = s[63 - t] + 2;
  }
  out[t] = x;
}

// Exchange within a warp through shared memory.
extern "C" __global__ void warp_wide(const uint32_t *a, uint32_t *out) {
  __shared__ uint32_t s[64];
  unsigned t = threadIdx.x, lane = t % 32, base = t - lane;
  uint32_t x = a[t];
  for (int i = 1; i < 32; i *= 2) {
    s[t] = x;
    __syncwarp();
    x += lane >= i ? s[base + lane - i] : 0;
    __syncwarp();
  }
  if (lane < 16) {
    s[t] = x;
    __syncwarp(0xffffu);
    x = s[base + 15 - lane];
  }
  out[t] = x;
}
