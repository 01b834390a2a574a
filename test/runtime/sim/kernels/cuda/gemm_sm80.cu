// SPDX-License-Identifier: Apache-2.0
// targets: sm_80
// flags: -O3
// C = A·Bᵀ as on Ampere: cp.async ring in swizzled shared memory, ldmatrix,
// mma.sync. A is M × K, B is N × K, bf16, K a multiple of 32. A block makes 64
// × 64 of C.
#include <cstdint>

__device__ __forceinline__ uint32_t shared(const void *p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}

constexpr int stages = 3, rowBytes = 64; // 32 elements of K

// Sixteen-byte chunk c of a row: neighbours of eight rows fall in different
// banks.
__device__ __forceinline__ uint32_t place(int row, int chunk) {
  return row * rowBytes + ((chunk ^ (row >> 1 & 3)) << 4);
}

extern "C" __global__ void __launch_bounds__(128)
    gemm(const uint16_t *a, const uint16_t *b, float *c, int n, int k) {
  __shared__ __align__(128) unsigned char sa[stages][64 * rowBytes],
      sb[stages][64 * rowBytes];
  int t = threadIdx.x, lane = t % 32, warp = t / 32;
  const uint16_t *rowsA = a + (size_t)blockIdx.y * 64 * k,
                 *rowsB = b + (size_t)blockIdx.x * 64 * k;
  int steps = k / 32;
  auto load = [&](int step) {
    if (step < steps) {
      int stage = step % stages;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int i = half * 128 + t, row = i / 4, chunk = i % 4;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                         shared(sa[stage]) + place(row, chunk)),
                     "l"(rowsA + row * k + step * 32 + chunk * 8)
                     : "memory");
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                         shared(sb[stage]) + place(row, chunk)),
                     "l"(rowsB + row * k + step * 32 + chunk * 8)
                     : "memory");
      }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  float acc[8][4] = {};
  load(0);
  load(1);
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    load(step + 2);
    int stage = step % stages;
#pragma unroll
    for (int kk = 0; kk < 2; ++kk) {
      uint32_t fa[4];
      int row = warp * 16 + lane % 16;
      asm volatile(
          "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
          : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
          : "r"(shared(sa[stage]) + place(row, kk * 2 + lane / 16))
          : "memory");
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        uint32_t fb[2];
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                     : "=r"(fb[0]), "=r"(fb[1])
                     : "r"(shared(sb[stage]) +
                           place(j * 8 + lane % 8, kk * 2 + lane / 8 % 2))
                     : "memory");
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, "
                     "%1, %2, %3}, "
                     "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(acc[j][0]), "+f"(acc[j][1]), "+f"(acc[j][2]),
                       "+f"(acc[j][3])
                     : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]),
                       "r"(fb[0]), "r"(fb[1]));
      }
    }
  }
  for (int j = 0; j < 8; ++j)
    for (int e = 0; e < 4; ++e) {
      int row = blockIdx.y * 64 + warp * 16 + lane / 4 + e / 2 * 8;
      int column = blockIdx.x * 64 + j * 8 + lane % 4 * 2 + e % 2;
      c[(size_t)row * n + column] = acc[j][e];
    }
}
