// SPDX-License-Identifier: Apache-2.0
// targets: sm_90a
// flags: -O3
// C = A·Bᵀ as on Hopper: a producer warp group issues TMA into a ring guarded
// by full and empty barriers, a consumer warp group runs wgmma on 64 × 64
// tiles, C leaves by TMA.
#include "hopper.h"
#include <cuda.h>

constexpr int stages = 3, tileBytes = 64 * 128; // 64 rows of 64 bf16
extern __shared__ __align__(1024) unsigned char smem[];

__device__ __forceinline__ uint64_t descriptor(uint32_t address) {
  return (uint64_t)(address >> 4 & 0x3fff) | 1ull << 16 | 64ull << 32 |
         1ull << 62;
}
__device__ __forceinline__ void load(const CUtensorMap *map, unsigned char *to,
                                     uint64_t *bar, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
               "complete_tx::bytes "
               "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared(to)),
               "l"(map), "r"(x), "r"(y), "r"(shared(bar))
               : "memory");
}

extern "C" __global__ void __launch_bounds__(256, 1)
    gemm(const __grid_constant__ CUtensorMap a,
         const __grid_constant__ CUtensorMap b,
         const __grid_constant__ CUtensorMap c, float *, int k) {
  __shared__ uint64_t full[stages], empty[stages];
  int t = threadIdx.x, steps = k / 64;
  unsigned char *sa = smem, *sb = smem + stages * tileBytes,
                *sc = smem + 2 * stages * tileBytes;
  if (t == 0) {
    for (int i = 0; i < stages; ++i) {
      initBarrier(&full[i], 1);
      initBarrier(&empty[i], 128);
    }
  }
  __syncthreads();
  if (t < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (t == 0)
#pragma unroll 1
      for (int i = 0; i < steps; ++i) {
        int stage = i % stages;
        waitFor(&empty[stage], (i / stages & 1) ^ 1);
        expect(&full[stage], 2 * tileBytes);
        load(&a, sa + stage * tileBytes, &full[stage], i * 64, blockIdx.y * 64);
        load(&b, sb + stage * tileBytes, &full[stage], i * 64, blockIdx.x * 64);
      }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");
  float d[32];
#pragma unroll 1
  for (int i = 0; i < steps; ++i) {
    int stage = i % stages;
    waitFor(&full[stage], i / stages & 1);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int kk = 0; kk < 4; ++kk)
      asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %34, 0;\n\t"
                   "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
                   "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, "
                   "%13, %14, %15, "
                   "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, "
                   "%27, %28, %29, %30, %31}, "
                   "%32, %33, p, 1, 1, 0, 0;\n\t}"
                   : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]),
                     "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]),
                     "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                     "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]),
                     "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),
                     "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]),
                     "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
                     "+f"(d[30]), "+f"(d[31])
                   : "l"(descriptor(shared(sa + stage * tileBytes) + kk * 32)),
                     "l"(descriptor(shared(sb + stage * tileBytes) + kk * 32)),
                     "r"(i + kk));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    arriveOn(&empty[stage]);
  }
  int lane = t % 32, warp = t / 32 - 4;
  for (int j = 0; j < 8; ++j)
    for (int e = 0; e < 4; ++e) {
      int row = warp * 16 + lane / 4 + e / 2 * 8,
          column = j * 8 + lane % 4 * 2 + e % 2;
      ((float *)sc)[row * 64 + column] = d[j * 4 + e];
    }
  fenceAsync();
  asm volatile("bar.sync 1, 128;" ::: "memory");
  if (t == 128) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, "
                 "{%1, %2}], [%3];" ::"l"(&c),
                 "r"(blockIdx.x * 64), "r"(blockIdx.y * 64), "r"(shared(sc))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::
                     : "memory");
  }
}
