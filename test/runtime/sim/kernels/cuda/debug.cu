// SPDX-License-Identifier: Apache-2.0
// targets: sm_80 sm_90a
// flags: -O0 -G
// What the compiler writes for a debugger: nothing inlined, every variable in
// local memory, debug sections.
#include <cstdint>

__device__ float polynomial(const float *c, int n, float x) {
  float r = 0;
  for (int i = n - 1; i >= 0; --i)
    r = r * x + c[i];
  return r;
}

extern "C" __global__ void horner(const float *a, float *out, int n) {
  __shared__ float c[8];
  int t = threadIdx.x;
  if (t < n)
    c[t] = (float)(t * t - 3);
  __syncthreads();
  float r = polynomial(c, n, a[t]);
  switch (t % 3) {
  case 0:
    r = -r;
    break;
  case 1:
    r += 1;
    break;
  }
  out[t] = r;
}
