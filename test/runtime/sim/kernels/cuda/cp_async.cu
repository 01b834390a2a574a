// SPDX-License-Identifier: Apache-2.0
// targets: sm_80
// flags: -O3
// cp.async: sizes, zero fill, groups, and arrival on mbarriers.
#include <cstdint>

__device__ __forceinline__ uint32_t shared(const void *p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}
#define COMMIT asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")

extern "C" __global__ void sizes(const uint32_t *a, uint32_t *out) {
  __shared__ __align__(16) uint32_t s[4][32 * 4];
  unsigned t = threadIdx.x;
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 4; ++k)
      s[i][t * 4 + k] = 0xeeeeeeeeu;
  asm volatile(
      "cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared(&s[0][t * 4])),
      "l"(a + t * 4)
      : "memory");
  asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 8;" ::"r"(
                   shared(&s[1][t * 4])),
               "l"(a + t * 4)
               : "memory");
  asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16;" ::"r"(
                   shared(&s[2][t * 4])),
               "l"(a + t * 4)
               : "memory");
  // Only (t % 5) · 4 bytes are read, the rest is zero.
  uint32_t bytes = t % 5 * 4;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   shared(&s[3][t * 4])),
               "l"(a + t * 4), "r"(bytes)
               : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 4; ++k)
      out[(i * 32 + t) * 4 + k] = s[i][((t ^ 1) * 4) + k];
}

// A ring of three buffers, two copies under way: the loop of every matrix
// product.
extern "C" __global__ void ring(const float *a, float *out, int n) {
  __shared__ __align__(16) float s[3][64 * 4];
  unsigned t = threadIdx.x;
  auto load = [&](int i) {
    if (i < n)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                       shared(&s[i % 3][t * 4])),
                   "l"(a + (i * 64 + t) * 4)
                   : "memory");
    COMMIT;
  };
  load(0);
  load(1);
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    WAIT(1);
    __syncthreads();
    load(i + 2);
    for (int k = 0; k < 4; ++k)
      sum += s[i % 3][((t + 1) % 64) * 4 + k] * (float)(k + 1);
  }
  out[t] = sum;
}

// Groups complete in order: after wait_group 2 the first is there.
extern "C" __global__ void groups(const uint32_t *a, uint32_t *out) {
  __shared__ __align__(16) uint32_t s[3][32];
  unsigned t = threadIdx.x;
  for (int i = 0; i < 3; ++i) {
    asm volatile(
        "cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared(&s[i][t])),
        "l"(a + i * 32 + t)
        : "memory");
    COMMIT;
  }
  WAIT(2);
  uint32_t x = s[0][t] * 3; // a thread sees its own copies
  WAIT(1);
  x += s[1][t] * 5;
  WAIT(0);
  out[t] = x + s[2][t] * 7;
}

__device__ __forceinline__ void waitParity(uint32_t bar, uint32_t parity) {
  asm volatile("{\n\t.reg .pred p;\n\tagain:\n\t"
               "mbarrier.test_wait.parity.shared.b64 p, [%0], %1;\n\t"
               "@p bra done;\n\tbra again;\n\tdone:\n\t}" ::"r"(bar),
               "r"(parity)
               : "memory");
}

// Copies arrive on an mbarrier: .noinc counts among the expected, the other
// form adds a pending count of its own and takes it away.
extern "C" __global__ void arrive(const uint32_t *a, uint32_t *out,
                                  int rounds) {
  __shared__ __align__(8) uint64_t full, other;
  __shared__ __align__(16) uint32_t s[64], r[64];
  unsigned t = threadIdx.x;
  if (t == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(shared(&full))
                 : "memory");
    asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(shared(&other))
                 : "memory");
  }
  __syncthreads();
  uint32_t sum = 0;
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    asm volatile(
        "cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared(&s[t])),
        "l"(a + i * 64 + t)
        : "memory");
    asm volatile(
        "cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared(&full))
        : "memory");
    asm volatile(
        "cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared(&r[t])),
        "l"(a + i * 64 + (t ^ 2))
        : "memory");
    asm volatile(
        "cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(shared(&other))
        : "memory");
    uint64_t state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];"
                 : "=l"(state)
                 : "r"(shared(&other))
                 : "memory");
    waitParity(shared(&full), i & 1);
    sum = sum * 3 + s[63 - t];
    waitParity(shared(&other), i & 1);
    sum += r[63 - t] * 2;
    __syncthreads();
  }
  out[t] = sum;
}
