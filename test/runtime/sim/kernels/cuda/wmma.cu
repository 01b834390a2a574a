// SPDX-License-Identifier: Apache-2.0
// targets: sm_80
// flags: -O3
// The wmma instructions: loads and stores of every layout, products of every
// type.
#include <cstdint>
#include <mma.h>
using namespace nvcuda;

template <int M, int N, int K, typename T, typename C, typename LA, typename LB>
__device__ void product(const T *a, const T *b, const C *c, C *d, int lda,
                        int ldb, wmma::layout_t order, int ldc) {
  wmma::fragment<wmma::matrix_a, M, N, K, T, LA> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, T, LB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, C> fc;
  wmma::load_matrix_sync(fa, a, lda);
  wmma::load_matrix_sync(fb, b, ldb);
  wmma::load_matrix_sync(fc, c, ldc, order);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(d, fc, ldc, order);
}
typedef wmma::row_major Row;
typedef wmma::col_major Col;

extern "C" __global__ void half_16x16(const half *a, const half *b,
                                      const float *c, float *d) {
  __shared__ __align__(32) half s[16 * 24];
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    int i = j * 32 + threadIdx.x;
    s[i / 16 * 24 + i % 16] = a[i];
  }
  __syncwarp();
  product<16, 16, 16, half, float, Row, Col>(s, b, c, d, 24, 16,
                                             wmma::mem_row_major, 16);
  product<16, 16, 16, half, float, Col, Row>(a, b, c, d + 256, 16, 16,
                                             wmma::mem_col_major, 16);
}
extern "C" __global__ void half_32x8(const half *a, const half *b,
                                     const half *c, half *d) {
  product<32, 8, 16, half, half, Row, Row>(a, b, c, d, 16, 8,
                                           wmma::mem_row_major, 8);
}
extern "C" __global__ void bf16_8x32(const __nv_bfloat16 *a,
                                     const __nv_bfloat16 *b, const float *c,
                                     float *d) {
  product<8, 32, 16, __nv_bfloat16, float, Row, Col>(a, b, c, d, 16, 16,
                                                     wmma::mem_row_major, 32);
}
extern "C" __global__ void bytes(const signed char *a, const signed char *b,
                                 const int *c, int *d) {
  product<16, 16, 16, signed char, int, Row, Col>(a, b, c, d, 16, 16,
                                                  wmma::mem_row_major, 16);
}
extern "C" __global__ void doubles(const double *a, const double *b,
                                   const double *c, double *d) {
  product<8, 8, 4, double, double, Row, Col>(a, b, c, d, 4, 4,
                                             wmma::mem_row_major, 8);
}
extern "C" __global__ void tf32(const float *a, const float *b, const float *c,
                                float *d) {
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, Row> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, Col> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> fc;
  wmma::load_matrix_sync(fa, a, 8);
  wmma::load_matrix_sync(fb, b, 8);
  for (int i = 0; i < fa.num_elements; ++i)
    fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
  for (int i = 0; i < fb.num_elements; ++i)
    fb.x[i] = wmma::__float_to_tf32(fb.x[i]);
  wmma::load_matrix_sync(fc, c, 16, wmma::mem_row_major);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(d, fc, 16, wmma::mem_row_major);
}
