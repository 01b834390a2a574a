// SPDX-License-Identifier: Apache-2.0
// targets: sm_80
// flags: -O3
// A bit of everything: a tile of each array goes to shared memory, products of
// its rows with f32, integer and exp2 arithmetic between, branches that part a
// warp, shuffles, barriers. What bench/sim times.
#include <cstdint>

constexpr int side = 32;

extern "C" __global__ void __launch_bounds__(256)
    mixed(const float *a, const float *b, float *out, uint32_t *bits,
          int width) {
  __shared__ float x[side][side + 1], y[side][side + 1];
  int column = threadIdx.x % side, row = threadIdx.x / side;
  int c = blockIdx.x * side + column;
  float acc[4] = {};
  uint32_t hash = threadIdx.x;
  for (int first = 0; first < width; first += side) {
    for (int r = row; r < side; r += 8) {
      x[r][column] = a[(blockIdx.y * side + r) * width + first + column];
      y[r][column] = b[(first + r) * width + c];
    }
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < side; ++k)
#pragma unroll
      for (int r = 0; r < 4; ++r)
        acc[r] = fmaf(x[row + 8 * r][k], y[k][column], acc[r]);
#pragma unroll 4
    for (int k = 0; k < 16; ++k) {
      hash = (hash ^ (hash >> 15)) * 0x2c1b3c6du;
      hash += __float_as_uint(acc[k % 4]) & 0xff;
      if (hash & 1)
        hash = __funnelshift_l(hash, hash, 7);
      else
        hash ^= __popc(hash) * 0x9e37u;
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    float most = acc[r];
    for (int s = 16; s; s /= 2)
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, s));
    float e = exp2f(acc[r] - most), total = e;
    for (int s = 16; s; s /= 2)
      total += __shfl_xor_sync(0xffffffffu, total, s);
    out[(blockIdx.y * side + row + 8 * r) * width + c] = e / total;
  }
  bits[(blockIdx.y * 8 + row) * width + c] = hash;
}
