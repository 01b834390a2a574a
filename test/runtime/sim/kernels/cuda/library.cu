// SPDX-License-Identifier: Apache-2.0
// targets: sm_80
// flags: -O3
#include <cmath>
#include <cstdint>

#define THREAD unsigned t = blockIdx.x * blockDim.x + threadIdx.x

// What the compiler makes of the mathematical library: branches, fma chains.
extern "C" __global__ void library(const float *a, const double *d, float *out,
                                   double *out64, uint32_t n) {
  THREAD;
  float x = a[t];
  out[t] = expf(x);
  out[n + t] = logf(fabsf(x) + 1e-3f);
  out[2 * n + t] = sinf(x);
  out[3 * n + t] = tanhf(x);
  out[4 * n + t] = powf(fabsf(x), 1.7f);
  out[5 * n + t] = erff(x);
  out64[t] = exp(d[t]);
  out64[n + t] = sin(d[t] * 1e6);
  out64[2 * n + t] = log1p(fabs(d[t]));
}
