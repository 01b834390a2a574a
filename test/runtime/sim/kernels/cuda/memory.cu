// SPDX-License-Identifier: Apache-2.0
// targets: sm_80
// Loads and stores: widths, vectors, cache hints, state spaces, generic
// addresses.
#include <cstdint>

#define THREAD unsigned t = blockIdx.x * blockDim.x + threadIdx.x

extern "C" __global__ void widths(const int8_t *a, int64_t *out, uint32_t n) {
  THREAD;
  const int8_t *p = a + t * 16;
  out[t] = p[0];
  out[n + t] = ((const uint8_t *)p)[1];
  out[2 * n + t] = ((const int16_t *)p)[1];
  out[3 * n + t] = ((const uint16_t *)p)[2];
  out[4 * n + t] = ((const int32_t *)p)[2];
  out[5 * n + t] = ((const uint32_t *)p)[3];
  out[6 * n + t] = ((const int64_t *)p)[1];
  char4 c = *(const char4 *)p;
  short2 s = *(const short2 *)(p + 4);
  out[7 * n + t] = c.x + c.y * 3 + c.z * 5 + c.w * 7 + s.x * 11 + s.y;
  longlong2 l = *(const longlong2 *)p;
  out[8 * n + t] = l.x ^ l.y;
}

extern "C" __global__ void hints(const uint4 *a, uint4 *out, uint32_t n) {
  THREAD;
  uint4 v;
  const uint4 *p = a + t;
  uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;"
               : "=l"(policy));
#define LOAD(text)                                                             \
  asm volatile(text " {%0, %1, %2, %3}, [%4];"                                 \
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)                    \
               : "l"(p));
#define STORE(row, text)                                                       \
  asm volatile(text " [%0], {%1, %2, %3, %4};" ::"l"(out + (row) * n + t),     \
               "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)                          \
               : "memory");
  LOAD("ld.global.ca.v4.u32")
  STORE(0, "st.global.wb.v4.u32")
  LOAD("ld.global.cg.v4.u32")
  STORE(1, "st.global.cg.v4.u32")
  LOAD("ld.global.cs.v4.u32")
  STORE(2, "st.global.cs.v4.u32")
  LOAD("ld.global.cv.v4.u32")
  STORE(3, "st.global.wt.v4.u32")
  LOAD("ld.global.nc.v4.u32")
  STORE(4, "st.global.L1::no_allocate.v4.u32")
  LOAD("ld.global.nc.L1::no_allocate.L2::128B.v4.u32")
  STORE(5, "st.global.L1::evict_last.v4.u32")
  LOAD("ld.global.L1::evict_first.L2::256B.v4.b32")
  STORE(6, "st.v4.u32")
  asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p), "l"(policy));
  asm volatile(
      "st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(
          out + 7 * n + t),
      "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "l"(policy)
      : "memory");
  LOAD("ld.relaxed.gpu.global.v4.u32")
  STORE(8, "st.relaxed.sys.global.v4.u32")
  LOAD("ld.volatile.global.v4.u32")
  STORE(9, "st.volatile.global.v4.u32")
  asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
  asm volatile("prefetch.global.L1 [%0];" ::"l"(p));
  asm volatile("ldu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(a));
  STORE(10, "st.weak.global.v4.u32")
}

__constant__ float factors[8] = {1.0f, -2.0f,  0.5f, 4.0f,
                                 8.0f, -0.25f, 3.0f, 7.0f};
__device__ int32_t counters[4] = {10, 20, 30, 40};
__device__ const int32_t *address = &counters[2];
extern __shared__ __align__(16) unsigned char dynamic[];

__device__ __noinline__ int32_t which(const void *p) {
  return (__isGlobal(p) ? 1 : 0) + (__isShared(p) ? 2 : 0) +
         (__isLocal(p) ? 4 : 0) + (__isConstant(p) ? 8 : 0);
}

// The same function reads global, shared, local and constant memory.
__device__ __noinline__ float generic(const float *p, int i) { return p[i]; }

extern "C" __global__ void spaces(const float *a, float *out, int32_t *where) {
  unsigned t = threadIdx.x;
  __shared__ float fixed[32];
  float *shared = (float *)dynamic;
  float local[8];
#pragma unroll 1
  for (int i = 0; i < 8; ++i)
    local[i] = a[(t + i) & 31];
  shared[t] = a[t] * 2.0f;
  fixed[t] = a[t] * 3.0f;
  __syncthreads();
  const float *p = t % 4 == 0   ? a
                   : t % 4 == 1 ? shared
                   : t % 4 == 2 ? local
                                : factors;
  out[t] = generic(p, t & 7) + fixed[31 - t] + factors[t & 7];
  where[t] = which(t % 4 == 3 ? (const void *)fixed : (const void *)p) +
             16 * counters[t & 3] + 1024 * *address;
}

// A two-dimensional transpose through padded shared memory.
extern "C" __global__ void transpose(const float *a, float *out, int32_t rows,
                                     int32_t columns) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8)
    if (x < columns && y + i < rows)
      tile[threadIdx.y + i][threadIdx.x] = a[(y + i) * columns + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8)
    if (x < rows && y + i < columns)
      out[(y + i) * rows + x] = tile[threadIdx.x][threadIdx.y + i];
}
