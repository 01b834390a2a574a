// SPDX-License-Identifier: Apache-2.0
// targets: sm_90a
// flags: -O3
// Tensor copies: loads of one to five dimensions dumped as they lie in shared
// memory, stores, reductions, multicast, maps changed on the device.
#include "hopper.h"
#include <cuda.h>

extern __shared__ __align__(1024) unsigned char smem[];

__device__ void begin(uint64_t *bar) {
  if (threadIdx.x == 0) {
    initBarrier(bar, 1);
  }
  __syncthreads();
}
__device__ void dump(uint32_t *out, uint32_t bytes) {
  for (uint32_t i = threadIdx.x; i < bytes / 4; i += blockDim.x)
    out[i] = ((const uint32_t *)smem)[i];
}

#define LOAD(rank, coordinates, ...)                                           \
  extern "C" __global__ void load##rank(                                       \
      const __grid_constant__ CUtensorMap map, uint32_t *out, uint32_t bytes,  \
      int x, int y, int z, int u, int v) {                                     \
    __shared__ uint64_t bar;                                                   \
    begin(&bar);                                                               \
    if (threadIdx.x == 0) {                                                    \
      expect(&bar, bytes);                                                     \
      asm volatile("cp.async.bulk.tensor." #rank                               \
                   "d.shared::cluster.global.mbarrier::complete_tx::bytes "    \
                   "[%0], [%1, " coordinates "], [%2];" ::"r"(shared(smem)),   \
                   "l"(&map), "r"(shared(&bar)), __VA_ARGS__                   \
                   : "memory");                                                \
    }                                                                          \
    waitFor(&bar, 0);                                                          \
    dump(out, bytes);                                                          \
  }
LOAD(1, "{%3}", "r"(x))
LOAD(2, "{%3, %4}", "r"(x), "r"(y))
LOAD(3, "{%3, %4, %5}", "r"(x), "r"(y), "r"(z))
LOAD(4, "{%3, %4, %5, %6}", "r"(x), "r"(y), "r"(z), "r"(u))
LOAD(5, "{%3, %4, %5, %6, %7}", "r"(x), "r"(y), "r"(z), "r"(u), "r"(v))

// Many tiles through a ring of two buffers: parities flip, barriers are used
// again.
extern "C" __global__ void ring(const __grid_constant__ CUtensorMap map,
                                float *out, int tiles) {
  __shared__ uint64_t full[2];
  if (threadIdx.x == 0) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
    initBarrier(&full[0], 1);
    initBarrier(&full[1], 1);
  }
  __syncthreads();
  auto load = [&](int i) {
    if (threadIdx.x == 0 && i < tiles) {
      uint64_t policy;
      asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;"
                   : "=l"(policy));
      expect(&full[i & 1], 2048);
      asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
                   "complete_tx::bytes.L2::cache_hint "
                   "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(
                       shared(smem + 2048 * (i & 1))),
                   "l"(&map), "r"(0), "r"(i * 16), "r"(shared(&full[i & 1])),
                   "l"(policy)
                   : "memory");
    }
  };
  load(0);
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < tiles; ++i) {
    load(i + 1);
    waitFor(&full[i & 1], i >> 1 & 1);
    for (int row = 0; row < 16; ++row)
      sum += ((const float *)(smem + 2048 * (i & 1)))[row * 32 + threadIdx.x] *
             (float)(row + 1);
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

#define STORE(name, text)                                                      \
  extern "C" __global__ void name(                                             \
      const uint32_t *a, const __grid_constant__ CUtensorMap map,              \
      uint32_t *result, uint32_t bytes, int x, int y) {                        \
    for (uint32_t i = threadIdx.x; i < bytes / 4; i += blockDim.x)             \
      ((uint32_t *)smem)[i] = a[i];                                            \
    fenceAsync();                                                              \
    __syncthreads();                                                           \
    if (threadIdx.x == 0) {                                                    \
      asm volatile(text " [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(x), "r"(y),  \
                   "r"(shared(smem))                                           \
                   : "memory");                                                \
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");                \
      asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");                \
    }                                                                          \
  }
STORE(store, "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group")
STORE(reduce_add,
      "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group")
STORE(reduce_max,
      "cp.reduce.async.bulk.tensor.2d.global.shared::cta.max.tile.bulk_group")

// Both blocks of a cluster get each half: one copy, two destinations, two
// barriers.
extern "C" __global__ void __cluster_dims__(2, 1, 1)
    multicast(const __grid_constant__ CUtensorMap map, uint32_t *out) {
  __shared__ uint64_t bar;
  if (threadIdx.x == 0) {
    initBarrier(&bar, 1);
    fenceInit();
  }
  clusterStart();
  uint32_t rank = clusterRank();
  if (threadIdx.x == 0) {
    expect(&bar, 4096);
    uint16_t both = 3;
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::"
        "bytes.multicast::cluster "
        "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared(smem + 2048 * rank)),
        "l"(&map), "r"(0), "r"(rank * 16), "r"(shared(&bar)), "h"(both)
        : "memory");
  }
  waitFor(&bar, 0);
  dump(out + blockIdx.x * 1024, 4096);
}

// A map made from another one: new address, sizes and box; then a store through
// it.
extern "C" __global__ void replace(const __grid_constant__ CUtensorMap map,
                                   const float *a, float *out,
                                   unsigned char *scratch, uint32_t width,
                                   uint32_t height) {
  __shared__ __align__(128) unsigned char local[128];
  uint32_t m = shared(local);
  if (threadIdx.x < 32) {
    ((uint32_t *)local)[threadIdx.x] = ((const uint32_t *)&map)[threadIdx.x];
    __syncwarp();
    if (threadIdx.x == 0) {
      uint64_t stride = width * 4;
      asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024."
                   "b64 [%0], %1;" ::"r"(m),
                   "l"(out)
                   : "memory");
      asm volatile(
          "tensormap.replace.tile.rank.shared::cta.b1024.b32 [%0], 1;" ::"r"(m)
          : "memory");
      asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 "
                   "[%0], 0, %1;" ::"r"(m),
                   "r"(width)
                   : "memory");
      asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 "
                   "[%0], 1, %1;" ::"r"(m),
                   "r"(height)
                   : "memory");
      asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 "
                   "[%0], 0, %1;" ::"r"(m),
                   "l"(stride)
                   : "memory");
      asm volatile(
          "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 0, 16;" ::
              "r"(m)
          : "memory");
      asm volatile(
          "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 1, 8;" ::
              "r"(m)
          : "memory");
      asm volatile("tensormap.replace.tile.element_stride.shared::cta.b1024."
                   "b32 [%0], 0, 1;" ::"r"(m)
                   : "memory");
      asm volatile("tensormap.replace.tile.element_stride.shared::cta.b1024."
                   "b32 [%0], 1, 1;" ::"r"(m)
                   : "memory");
      asm volatile(
          "tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%0], 7;" ::
              "r"(m)
          : "memory");
      asm volatile("tensormap.replace.tile.interleave_layout.shared::cta.b1024."
                   "b32 [%0], 0;" ::"r"(m)
                   : "memory");
      asm volatile("tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 "
                   "[%0], 2;" ::"r"(m)
                   : "memory");
      asm volatile(
          "tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%0], 0;" ::
              "r"(m)
          : "memory");
    }
    __syncwarp();
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::"
                 "generic.release.gpu.sync.aligned "
                 "[%0], [%1], 128;" ::"l"(scratch),
                 "r"(m)
                 : "memory");
    asm volatile(
        "fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(scratch)
        : "memory");
  }
  // 8 rows of 16 floats, in the 64-byte swizzle.
  for (uint32_t i = threadIdx.x; i < 128; i += blockDim.x) {
    uint32_t at = i * 4;
    at ^= (at >> 7 & 3) << 4;
    *(float *)(smem + at) = a[i];
  }
  fenceAsync();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, "
                 "{%1, %2}], [%3];" ::"l"(scratch),
                 "r"(8), "r"(3), "r"(shared(smem))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
