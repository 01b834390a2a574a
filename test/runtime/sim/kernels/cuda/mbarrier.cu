// SPDX-License-Identifier: Apache-2.0
// targets: sm_80 sm_90a
// mbarrier: phases, counts, drop, tokens and parities; on Hopper transactions.
#include <cstdint>

__device__ __forceinline__ uint32_t shared(const void *p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}
__device__ __forceinline__ void init(uint64_t *b, uint32_t n) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared(b)), "r"(n)
               : "memory");
}
__device__ __forceinline__ uint64_t arrive(uint64_t *b) {
  uint64_t state;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];"
               : "=l"(state)
               : "r"(shared(b))
               : "memory");
  return state;
}
__device__ __forceinline__ bool test(uint64_t *b, uint64_t state) {
  uint32_t r;
  asm volatile(
      "{.reg .pred p;\n\tmbarrier.test_wait.shared.b64 p, [%1], %2;\n\t"
      "selp.u32 %0, 1, 0, p;}"
      : "=r"(r)
      : "r"(shared(b)), "l"(state)
      : "memory");
  return r;
}
__device__ __forceinline__ bool testParity(uint64_t *b, uint32_t parity) {
  uint32_t r;
  asm volatile(
      "{.reg .pred p;\n\tmbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n\t"
      "selp.u32 %0, 1, 0, p;}"
      : "=r"(r)
      : "r"(shared(b)), "r"(parity)
      : "memory");
  return r;
}

// Every thread arrives and waits for its token.
extern "C" __global__ void tokens(const uint32_t *a, uint32_t *out,
                                  int rounds) {
  __shared__ uint64_t bar;
  __shared__ uint32_t s[2][96];
  unsigned t = threadIdx.x;
  if (t == 0)
    init(&bar, 96);
  __syncthreads();
  uint32_t x = a[t];
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    s[i & 1][t] = x;
    uint64_t state = arrive(&bar);
    while (!test(&bar, state))
      ;
    x = x * 3 + s[i & 1][(t + 33) % 96];
  }
  out[t] = x;
  __syncthreads();
  if (t == 0)
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(shared(&bar))
                 : "memory");
}

// Producer and consumers with full and empty barriers, two stages.
extern "C" __global__ void stages(const uint32_t *a, uint32_t *out, int n) {
  __shared__ uint64_t full[2], empty[2];
  __shared__ uint32_t s[2][32];
  unsigned t = threadIdx.x, lane = t % 32;
  if (t == 0)
    for (int i = 0; i < 2; ++i) {
      init(&full[i], 32);
      init(&empty[i], 64);
    }
  __syncthreads();
  if (t < 32) {
#pragma unroll 1
    for (int i = 0; i < n; ++i) {
      int stage = i & 1;
      uint32_t phase = (i >> 1) & 1;
      while (!testParity(&empty[stage], phase ^ 1))
        ;
      s[stage][lane] = a[i * 32 + lane];
      arrive(&full[stage]);
    }
  } else {
    uint32_t sum = 0;
#pragma unroll 1
    for (int i = 0; i < n; ++i) {
      int stage = i & 1;
      uint32_t phase = (i >> 1) & 1;
      while (!testParity(&full[stage], phase))
        ;
      sum = sum * 7 + s[stage][(lane * 5 + t / 32) % 32];
      arrive(&empty[stage]);
    }
    out[t - 32] = sum;
  }
}

// arrive with a count, arrive.noComplete, arrive_drop, pending_count.
extern "C" __global__ void counts(uint32_t *out) {
  __shared__ uint64_t bar;
  unsigned t = threadIdx.x;
  if (t == 0) {
    init(&bar, 40);
    uint64_t state;
    uint32_t pending;
    asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1], 7;"
                 : "=l"(state)
                 : "r"(shared(&bar))
                 : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;"
                 : "=r"(pending)
                 : "l"(state));
    out[0] = pending; // before the operation
    asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1], 1;"
                 : "=l"(state)
                 : "r"(shared(&bar))
                 : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;"
                 : "=r"(pending)
                 : "l"(state));
    out[1] = pending;
  }
  __syncthreads();
  // 32 threads complete the phase: 8 of them leave for good.
  if (t < 8) {
    uint64_t state;
    asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1];"
                 : "=l"(state)
                 : "r"(shared(&bar))
                 : "memory");
    while (!test(&bar, state))
      ;
  } else if (t < 32) {
    uint64_t state = arrive(&bar);
    while (!test(&bar, state))
      ;
  }
  __syncthreads();
  if (t == 32) { // of another warp
    out[2] = testParity(&bar, 0) + 2 * testParity(&bar, 1);
    uint64_t state;
    uint32_t pending;
    asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1], 31;"
                 : "=l"(state)
                 : "r"(shared(&bar))
                 : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;"
                 : "=r"(pending)
                 : "l"(state));
    out[3] = pending; // 40 − 8
    arrive(&bar);
    out[4] = testParity(&bar, 1) + 2 * testParity(&bar, 0);
  }
}

#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ void tryWait(uint64_t *b, uint32_t parity) {
  asm volatile("{\n\t.reg .pred p;\n\tLAB_WAIT:\n\t"
               "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n\t"
               "@p bra DONE;\n\tbra LAB_WAIT;\n\tDONE:\n\t}" ::"r"(shared(b)),
               "r"(parity)
               : "memory");
}

// Transactions: a phase ends when arrivals and bytes are both complete.
extern "C" __global__ void transactions(const uint32_t *a, uint32_t *out) {
  __shared__ uint64_t bar;
  __shared__ __align__(128) uint32_t s[64];
  unsigned t = threadIdx.x;
  if (t == 0) {
    init(&bar, 1);
  }
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < 3; ++i) {
    if (t == 0) {
      if (i == 0) {
        asm volatile(
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(
                shared(&bar))
            : "memory");
      } else {
        asm volatile(
            "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 256;" ::"r"(
                shared(&bar))
            : "memory");
        asm volatile(
            "mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(
                shared(&bar))
            : "memory");
      }
      for (int k = 0; k < 2; ++k)
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
            "[%0], [%1], 128, [%2];" ::"r"(shared(s + 32 * k)),
            "l"(a + i * 64 + 32 * k), "r"(shared(&bar))
            : "memory");
    }
    tryWait(&bar, i & 1);
    out[i * 64 + t] = s[63 - t] + 1;
    __syncthreads(); // all have read before the next copy writes
  }
}

// complete_tx by hand, try_wait with a time limit, test_wait with acquire
// spelled out.
extern "C" __global__ void by_hand(uint32_t *out) {
  __shared__ uint64_t bar;
  __shared__ uint32_t word;
  unsigned t = threadIdx.x;
  if (t == 0)
    init(&bar, 1);
  __syncthreads();
  if (t == 0) {
    asm volatile(
        "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], 24;" ::
            "r"(shared(&bar))
        : "memory");
  } else if (t == 32) {
    asm volatile("st.shared.u32 [%0], 41;" ::"r"(shared(&word)) : "memory");
    __threadfence_block();
    asm volatile(
        "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 24;" ::"r"(
            shared(&bar))
        : "memory");
  }
  uint32_t done = 0;
  while (!done)
    asm volatile("{.reg .pred "
                 "p;\n\tmbarrier.try_wait.parity.acquire.cta.shared::cta.b64 "
                 "p, [%1], 0, 1000;\n\t"
                 "selp.u32 %0, 1, 0, p;}"
                 : "=r"(done)
                 : "r"(shared(&bar))
                 : "memory");
  out[t] = done + word;
}
#endif
