// SPDX-License-Identifier: Apache-2.0
// targets: sm_90a
// flags: -O3
// Clusters and bulk copies: distributed shared memory, barriers across blocks,
// setmaxnreg, griddepcontrol.
#include "hopper.h"

// Each block reads its neighbour's shared memory, then adds to everyone's.
extern "C" __global__ void __cluster_dims__(4, 1, 1)
    ring(const uint32_t *a, uint32_t *out) {
  __shared__ uint32_t s[64], sum;
  unsigned t = threadIdx.x;
  uint32_t rank = clusterRank(), size;
  asm volatile("mov.u32 %0, %cluster_nctarank;" : "=r"(size));
  s[t] = a[blockIdx.x * 64 + t];
  if (t == 0)
    sum = 0;
  clusterSync();
  uint32_t next = mapTo(shared(&s[63 - t]), (rank + 1) % size), v;
  asm volatile("ld.shared::cluster.u32 %0, [%1];"
               : "=r"(v)
               : "r"(next)
               : "memory");
#pragma unroll 1
  for (uint32_t k = 0; k < size; ++k)
    asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], %1;" ::"r"(
                     mapTo(shared(&sum), k)),
                 "r"(v)
                 : "memory");
  clusterSync();
  out[blockIdx.x * 65 + t] = v;
  if (t == 0)
    out[blockIdx.x * 65 + 64] = sum;
}

// Writes into the other block and a barrier there that says so.
extern "C" __global__ void __cluster_dims__(2, 1, 1)
    remote_arrive(const uint32_t *a, uint32_t *out, int rounds) {
  __shared__ uint32_t s[2][32];
  __shared__ uint64_t full[2];
  unsigned t = threadIdx.x;
  uint32_t rank = clusterRank();
  if (t == 0) {
    initBarrier(&full[0], 32);
    initBarrier(&full[1], 32);
    fenceInit();
  }
  clusterStart();
  uint32_t sum = 0;
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    uint32_t there = mapTo(shared(&s[i & 1][t]), rank ^ 1),
             bar = mapTo(shared(&full[i & 1]), rank ^ 1);
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there),
                 "r"(a[(i * 2 + rank) * 32 + t])
                 : "memory");
    asm volatile(
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
            bar)
        : "memory");
    asm volatile("{\n\t.reg .pred p;\n\tagain:\n\t"
                 "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, "
                 "[%0], %1;\n\t"
                 "@!p bra again;\n\t}" ::"r"(shared(&full[i & 1])),
                 "r"(i >> 1 & 1)
                 : "memory");
    // It is written again when the next round's arrival is there as well.
    sum = sum * 3 + s[i & 1][31 - t];
  }
  out[blockIdx.x * 32 + t] = sum;
}

// Bulk copies: global to shared, shared to the other block's shared, shared to
// global, reduce.
extern "C" __global__ void __cluster_dims__(2, 1, 1)
    bulk(const float *a, float *out, float *total) {
  __shared__ __align__(128) float s[64], r[64];
  __shared__ uint64_t loaded, received;
  unsigned t = threadIdx.x;
  uint32_t rank = clusterRank();
  if (t == 0) {
    initBarrier(&loaded, 1);
    initBarrier(&received, 1);
    fenceInit();
  }
  clusterStart();
  if (t == 0) {
    expect(&received, 256);
    expect(&loaded, 256);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
                 "bytes [%0], [%1], 256, [%2];" ::"r"(shared(s)),
                 "l"(a + blockIdx.x * 64), "r"(shared(&loaded))
                 : "memory");
  }
  waitFor(&loaded, 0);
  s[t] *= 2.0f;
  fenceAsync();
  __syncthreads();
  if (t == 0) {
    asm volatile(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::"
        "bytes [%0], [%1], 256, [%2];" ::"r"(mapTo(shared(r), rank ^ 1)),
        "r"(shared(s)), "r"(mapTo(shared(&received), rank ^ 1))
        : "memory");
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 "
                 "[%0], [%1], 256;" ::"l"(total),
                 "r"(shared(s))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  }
  waitFor(&received, 0);
  clusterSync(); // the other block has received: s was read
  s[t] = r[t] + 1.0f;
  fenceAsync();
  __syncthreads();
  if (t == 0) {
    asm volatile(
        "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(
            out + blockIdx.x * 64),
        "r"(shared(s))
        : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

#define BULK_REDUCE(op, type, row)                                             \
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." op        \
               "." type " [%0], [%1], 128;" ::"l"(out + row * 32),             \
               "r"(shared(s))                                                  \
               : "memory");
// All reductions over integers.
extern "C" __global__ void bulk_reduce(const uint32_t *a, uint32_t *out) {
  __shared__ __align__(128) uint32_t s[32];
  s[threadIdx.x] = a[blockIdx.x * 32 + threadIdx.x];
  fenceAsync();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_REDUCE("add", "u32", 0)
    BULK_REDUCE("min", "s32", 1)
    BULK_REDUCE("max", "u32", 2)
    BULK_REDUCE("and", "b32", 3)
    BULK_REDUCE("or", "b32", 4)
    BULK_REDUCE("xor", "b32", 5)
    BULK_REDUCE("add", "u64", 6)
    BULK_REDUCE("inc", "u32", 7)
    asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::
                     : "memory");
  }
}

extern "C" __global__ void __cluster_dims__(2, 2, 1) registers(uint32_t *out) {
  uint32_t v[8], at = (blockIdx.y * gridDim.x + blockIdx.x) * 8;
  asm volatile("mov.u32 %0, %clusterid.x;" : "=r"(v[0]));
  asm volatile("mov.u32 %0, %clusterid.y;" : "=r"(v[1]));
  asm volatile("mov.u32 %0, %nclusterid.x;" : "=r"(v[2]));
  asm volatile("mov.u32 %0, %cluster_ctaid.x;" : "=r"(v[3]));
  asm volatile("mov.u32 %0, %cluster_ctaid.y;" : "=r"(v[4]));
  asm volatile("mov.u32 %0, %cluster_nctaid.y;" : "=r"(v[5]));
  asm volatile("mov.u32 %0, %cluster_ctarank;" : "=r"(v[6]));
  asm volatile("{.reg .pred p;\n\tmov.pred p, "
               "%is_explicit_cluster;\n\tselp.u32 %0, 1, 0, p;}"
               : "=r"(v[7]));
  __shared__ uint32_t own;
  uint32_t rank;
  asm volatile("getctarank.shared::cluster.u32 %0, %1;"
               : "=r"(rank)
               : "r"(mapTo(shared(&own), 3)));
  v[7] += rank * 16;
  for (int i = 0; i < 8; ++i)
    out[at + i] = v[i];
}

// Producer and consumer warp groups with registers moved from one to the other.
extern "C" __global__ void __launch_bounds__(256, 1)
    roles(const uint32_t *a, uint32_t *out, int n) {
  __shared__ __align__(128) uint32_t s[2][128];
  __shared__ uint64_t full[2], empty[2];
  asm volatile("griddepcontrol.wait;" ::: "memory");
  unsigned t = threadIdx.x;
  if (t == 0) {
    for (int i = 0; i < 2; ++i) {
      initBarrier(&full[i], 1);
      initBarrier(&empty[i], 128);
    }
  }
  __syncthreads();
  if (t < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (t == 0)
#pragma unroll 1
      for (int i = 0; i < n; ++i) {
        waitFor(&empty[i & 1], (i >> 1 & 1) ^ 1);
        expect(&full[i & 1], 512);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_"
                     "tx::bytes [%0], [%1], 512, [%2];" ::"r"(shared(s[i & 1])),
                     "l"(a + i * 128), "r"(shared(&full[i & 1]))
                     : "memory");
      }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    uint32_t sum = 0;
#pragma unroll 1
    for (int i = 0; i < n; ++i) {
      waitFor(&full[i & 1], i >> 1 & 1);
      sum = sum * 5 + s[i & 1][(t * 3) % 128];
      arriveOn(&empty[i & 1]);
    }
    out[t - 128] = sum;
  }
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// Row sums over a cluster, as softmax and norms of long rows make them: every
// block sends its part to every other with a store that the other's barrier
// counts, and the largest of all by a reduction of the same kind.
// Rounds take two buffers in turn.
extern "C" __global__ void __cluster_dims__(4, 1, 1)
    send_parts(const float *a, float *sums, uint32_t *most, int rounds) {
  __shared__ __align__(16) float parts[2][4][32][4];
  __shared__ uint32_t top[2];
  __shared__ uint64_t full[2];
  unsigned t = threadIdx.x;
  uint32_t rank = clusterRank();
  if (t < 2) {
    initBarrier(&full[t], 1);
    top[t] = 0;
  }
  clusterSync();
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    int b = i & 1;
    // 16 bytes of each of 32 threads, of 3 other blocks, and 4 bytes of thread
    // 0 of each.
    if (t == 0)
      expect(&full[b], 3 * (32 * 16 + 4));
    const float4 v = ((const float4 *)a)[((blockIdx.x * rounds + i) * 32 + t)];
    float sum[4] = {v.x, v.y, v.z, v.w};
#pragma unroll 1
    for (uint32_t other = 0; other < 4; ++other) {
      if (other == rank)
        continue;
      uint32_t bar = mapTo(shared(&full[b]), other);
      asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4."
                   "f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                       mapTo(shared(&parts[b][rank][t][0]), other)),
                   "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w), "r"(bar)
                   : "memory");
      if (t == 0)
        asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::"
                     "complete_tx::bytes.max.u32 [%0], %1, [%2];" ::"r"(
                         mapTo(shared(&top[b]), other)),
                     "r"(__float_as_uint(v.x)), "r"(bar)
                     : "memory");
    }
    asm volatile("{\n\t.reg .pred p;\n\tagain:\n\t"
                 "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, "
                 "[%0], %1;\n\t"
                 "@!p bra again;\n\t}" ::"r"(shared(&full[b])),
                 "r"(i >> 1 & 1)
                 : "memory");
    for (uint32_t other = 0; other < 4; ++other)
      if (other != rank)
        for (int k = 0; k < 4; ++k)
          sum[k] += parts[b][other][t][k];
    for (int k = 0; k < 4; ++k)
      sums[((blockIdx.x * rounds + i) * 32 + t) * 4 + k] = sum[k];
    if (t == 0)
      most[blockIdx.x * rounds + i] = top[b];
    // Nobody sends into a buffer again before all have read it.
    clusterSync();
  }
}
