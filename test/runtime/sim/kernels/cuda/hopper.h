// SPDX-License-Identifier: Apache-2.0
// The instructions of sm_90a that the kernels here share, each as one function.
#pragma once
#include <cstdint>

__device__ __forceinline__ uint32_t shared(const void *p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}
__device__ __forceinline__ void initBarrier(uint64_t *b, uint32_t n) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(b)),
               "r"(n)
               : "memory");
}
__device__ __forceinline__ void fenceInit() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void fenceAsync() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void expect(uint64_t *b, uint32_t bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared(b)),
      "r"(bytes)
      : "memory");
}
__device__ __forceinline__ void arriveOn(uint64_t *b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared(b))
               : "memory");
}
__device__ __forceinline__ void waitFor(uint64_t *b, uint32_t parity) {
  asm volatile("{\n\t.reg .pred p;\n\tLAB_WAIT:\n\t"
               "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n\t"
               "@p bra DONE;\n\tbra LAB_WAIT;\n\tDONE:\n\t}" ::"r"(shared(b)),
               "r"(parity)
               : "memory");
}
__device__ __forceinline__ void clusterSync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n\t"
               "barrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
}
// Tells the cluster only what a fence before published (fenceInit).
__device__ __forceinline__ void clusterStart() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\n\t"
               "barrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
}
__device__ __forceinline__ uint32_t clusterRank() {
  uint32_t r;
  asm volatile("mov.u32 %0, %cluster_ctarank;" : "=r"(r));
  return r;
}
__device__ __forceinline__ uint32_t mapTo(uint32_t address, uint32_t rank) {
  uint32_t r;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(r)
               : "r"(address), "r"(rank));
  return r;
}
