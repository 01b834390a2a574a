// nvcc -ptx -arch=sm_90a -lineinfo nvcc-forms.cu, then the folder taken from
// the .file lines: what nvcc writes for calls, jump tables, printf, assert,
// malloc, initialised tables and dynamic shared memory.
#include <cassert>
#include <cstdio>

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
  if (i == 0)
    printf("n = %d\n", n);
  assert(n > 0);
}

__device__ float choose(int k, float x) {
  switch (k) {
  case 0:
    return x + 1;
  case 1:
    return x * 2;
  case 2:
    return __sinf(x);
  case 3:
    return __expf(x);
  case 4:
    return x / 3;
  case 5:
    return x - 9;
  default:
    return 0;
  }
}
extern "C" __global__ void jumps(int k, float *p) {
  p[threadIdx.x] = choose(k, p[threadIdx.x]);
}

typedef float (*Function)(float);
__device__ __noinline__ float twice(float x) { return x * 2; }
__device__ __noinline__ float plus(float x) { return x + 2; }
__device__ Function table[2] = {twice, plus};
__constant__ float constants[4] = {1, 2, 3.5, 4};
__device__ int nested[3][2] = {{1, 2}, {3}};
extern "C" __global__ void indirect(int k, float *p) {
  p[0] = table[k](p[1]) + constants[k] + nested[k][1];
  int *q = (int *)malloc(k);
  q[0] = 1;
  free(q);
}

extern __shared__ float dynamic[];
extern "C" __global__ void __launch_bounds__(128, 2) __cluster_dims__(2, 1, 1)
    shared(float *p) {
  __shared__ float tile[32][33];
  tile[threadIdx.x][0] = p[0];
  dynamic[threadIdx.x] = 1;
  for (int i = 0; i < 2; ++i)
    asm volatile("{\n .reg .pred p;\n WAIT:\n setp.eq.u32 p, %0, 7;\n"
                 " @!p bra DONE;\n bra WAIT;\n DONE:\n}"
                 ::"r"(threadIdx.y + i));
  __syncthreads();
  p[1] = tile[0][threadIdx.x] + dynamic[3];
}
