// SPDX-License-Identifier: Apache-2.0
// targets: sm_80
// flags: -O3
// Attention forward of one head, D = 64, f16: four warps of 16 queries, blocks
// of 32 keys through cp.async, online softmax in registers, V by
// ldmatrix.trans.
#include <cstdint>

__device__ __forceinline__ uint32_t shared(const void *p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}
__device__ __forceinline__ uint32_t place(int row, int chunk) {
  return row * 128 + ((chunk ^ (row & 7)) << 4);
}
__device__ __forceinline__ void mma(float *c, const uint32_t *a, uint32_t b0,
                                    uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ float exp2Approx(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
__device__ __forceinline__ uint32_t pack(float low, float high) {
  uint32_t r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}

extern "C" __global__ void __launch_bounds__(128)
    attention(const uint16_t *q, const uint16_t *k, const uint16_t *v,
              float *out, float *lse, int length, float scale, int causal) {
  __shared__ __align__(128) unsigned char sq[64 * 128], sk[2][32 * 128],
      sv[2][32 * 128];
  int t = threadIdx.x, lane = t % 32, warp = t / 32, first = blockIdx.x * 64;
  auto copy = [&](unsigned char *to, const uint16_t *from, int rows) {
#pragma unroll
    for (int j = 0; j < rows / 16; ++j) {
      int i = j * 128 + t;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                       shared(to) + place(i / 8, i % 8)),
                   "l"(from + i * 8)
                   : "memory");
    }
  };
  auto commit = [] { asm volatile("cp.async.commit_group;" ::: "memory"); };
  int blocks = (causal ? first + 64 : length) / 32;
  copy(sq, q + first * 64, 64);
  copy(sk[0], k, 32);
  copy(sv[0], v, 32);
  commit();
  uint32_t fq[4][4];
  float o[8][4] = {}, most[2] = {-1e30f, -1e30f}, sum[2] = {0, 0};
#pragma unroll 1
  for (int j = 0; j < blocks; ++j) {
    if (j + 1 < blocks) {
      copy(sk[(j + 1) & 1], k + (j + 1) * 32 * 64, 32);
      copy(sv[(j + 1) & 1], v + (j + 1) * 32 * 64, 32);
      commit();
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    if (j == 0)
#pragma unroll
      for (int d = 0; d < 4; ++d)
        asm volatile(
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
            : "=r"(fq[d][0]), "=r"(fq[d][1]), "=r"(fq[d][2]), "=r"(fq[d][3])
            : "r"(shared(sq) + place(warp * 16 + lane % 16, d * 2 + lane / 16))
            : "memory");
    float s[4][4] = {};
#pragma unroll
    for (int d = 0; d < 4; ++d)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        uint32_t b0, b1;
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                     : "=r"(b0), "=r"(b1)
                     : "r"(shared(sk[j & 1]) +
                           place(i * 8 + lane % 8, d * 2 + lane / 8 % 2))
                     : "memory");
        mma(s[i], fq[d], b0, b1);
      }
    uint32_t p[2][4];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int row = first + warp * 16 + lane / 4 + 8 * half;
      float m = most[half];
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float &x = s[i][half * 2 + e];
          x *= scale;
          if (causal && j * 32 + i * 8 + lane % 4 * 2 + e > row)
            x = -1e30f;
          m = fmaxf(m, x);
        }
      m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 1));
      m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 2));
      float correction = exp2Approx(most[half] - m);
      most[half] = m;
      float total = 0;
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int e = 0; e < 2; ++e)
          total += s[i][half * 2 + e] = exp2Approx(s[i][half * 2 + e] - m);
      sum[half] = sum[half] * correction + total;
#pragma unroll
      for (int d = 0; d < 8; ++d)
        o[d][half * 2] *= correction, o[d][half * 2 + 1] *= correction;
#pragma unroll
      for (int i = 0; i < 4; ++i)
        p[i / 2][half + i % 2 * 2] = pack(s[i][half * 2], s[i][half * 2 + 1]);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int d = 0; d < 8; ++d) {
        uint32_t b0, b1;
        asm volatile(
            "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
            : "=r"(b0), "=r"(b1)
            : "r"(shared(sv[j & 1]) + place(i * 16 + lane % 16, d))
            : "memory");
        mma(o[d], p[i], b0, b1);
      }
    __syncthreads();
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float total = sum[half];
    total += __shfl_xor_sync(0xffffffffu, total, 1);
    total += __shfl_xor_sync(0xffffffffu, total, 2);
    int row = first + warp * 16 + lane / 4 + 8 * half;
    for (int d = 0; d < 8; ++d)
      for (int e = 0; e < 2; ++e)
        out[row * 64 + d * 8 + lane % 4 * 2 + e] = o[d][half * 2 + e] / total;
    if (lane % 4 == 0)
      lse[row] = most[half] + __log2f(total);
  }
}
