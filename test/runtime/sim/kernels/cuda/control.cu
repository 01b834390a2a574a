// SPDX-License-Identifier: Apache-2.0
// targets: sm_80
// Control flow: divergence, loops of different lengths, calls, recursion,
// function pointers, switch tables, spin locks per lane, early exits, printf,
// assert.
#include <cassert>
#include <cstdint>
#include <cstdio>

#define THREAD unsigned t = blockIdx.x * blockDim.x + threadIdx.x

extern "C" __global__ void nested(const int32_t *a, int32_t *out) {
  THREAD;
  int32_t x = a[t], r = 0;
  if (x > 0) {
    if (x & 1) {
      for (int i = 0; i < (x & 15); ++i)
        r += i * x;
    } else if (x & 2) {
      int i = x;
      while (i != 1 && r < 300) { // Collatz
        i = i & 1 ? 3 * i + 1 : i / 2;
        ++r;
      }
    } else {
      r = -x;
      if (t % 5 == 0)
        return; // leaves what the host put there
    }
  } else {
    do {
      r -= 3;
      x += 7;
      if (x == -9)
        break;
      if (x & 4)
        continue;
      r ^= x;
    } while (x < 0);
  }
  out[t] = r;
}

__device__ __noinline__ uint32_t fibonacci(uint32_t n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__device__ __noinline__ void sortLocal(uint32_t *v, int n) {
#pragma unroll 1
  for (int i = 1; i < n; ++i)
#pragma unroll 1
    for (int j = i; j > 0 && v[j - 1] > v[j]; --j) {
      uint32_t s = v[j];
      v[j] = v[j - 1];
      v[j - 1] = s;
    }
}

extern "C" __global__ void recursion(const uint32_t *a, uint32_t *out) {
  THREAD;
  uint32_t local[12];
  uint32_t x = a[t];
#pragma unroll 1
  for (int i = 0; i < 12; ++i)
    local[i] = (x = x * 1664525u + 1013904223u) >> 20;
  sortLocal(local, 12);
  out[2 * t] = fibonacci(a[t] % 11);
  out[2 * t + 1] = local[a[t] % 12];
}

__device__ __noinline__ float half_of(float x) { return x * 0.5f; }
__device__ __noinline__ float square_of(float x) { return x * x; }
__device__ __noinline__ float minus_one(float x) { return x - 1.0f; }
typedef float (*Function)(float);
__device__ Function table[3] = {half_of, square_of, minus_one};

extern "C" __global__ void pointers(const float *a, float *out) {
  THREAD;
  Function f = table[t % 3], g = a[t] > 0 ? square_of : half_of;
  out[t] = f(a[t]) + g(a[t]);
}

struct Pair {
  double first;
  int32_t second[3];
};
__device__ __noinline__ Pair make(double x, Pair p) {
  p.first += x;
  p.second[2] *= 2;
  return p;
}

extern "C" __global__ void structures(const double *a, double *out) {
  THREAD;
  Pair p{a[t], {1, 2, (int32_t)t}};
  for (int i = 0; i < 3; ++i)
    p = make(0.25 * i, p);
  out[t] = p.first + p.second[2];
}

extern "C" __global__ void jump(const uint32_t *a, uint32_t *out) {
  THREAD;
  uint32_t x = a[t], r = x;
#pragma unroll 1
  for (int i = 0; i < 6; ++i) {
    switch (r % 9) {
    case 0:
      r = r * 3 + 1;
      break;
    case 1:
      r ^= 0x55;
      break;
    case 2:
      r = r >> 1 | x << 7;
    case 3:
      r += 11;
      break;
    case 4:
      r = ~r;
      break;
    case 5:
      r -= x;
      break;
    case 6:
      r = r / 3 + t;
      break;
    case 7:
      i += 1;
      r += 5;
      break;
    default:
      r = __brev(r) >> 3;
      break;
    }
  }
  out[t] = r;
}

// A table that ptxas turns into an indirect branch, written out.
extern "C" __global__ void branch_table(const uint32_t *a, uint32_t *out) {
  THREAD;
  uint32_t r = 0, i = a[t] % 4;
  asm volatile("{\n\t.reg .u32 x;\n\tmov.u32 x, %1;\n\t"
               "targets: .branchtargets zero, one, two, three;\n\t"
               "brx.idx x, targets;\n\t"
               "zero: mov.u32 %0, 100;\n\tbra.uni done;\n\t"
               "one: mov.u32 %0, 201;\n\tbra.uni done;\n\t"
               "two: mov.u32 %0, 302;\n\t"
               "three: add.u32 %0, %0, 403;\n\t"
               "done:\n\t}"
               : "+r"(r)
               : "r"(i));
  out[t] = r;
}

// Every lane of a warp takes the same lock: only progress of each lane alone
// ends it.
extern "C" __global__ void spin_lock(uint32_t *lock, uint32_t *sum,
                                     const uint32_t *a) {
  THREAD;
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0u, 1u) == 0u) {
      __threadfence();
      *sum += a[t];
      __threadfence();
      atomicExch(lock, 0u);
      done = true;
    }
  }
}

// The lane that releases comes after the lane that waits, in the same warp.
extern "C" __global__ void lane_waits_for_lane(uint32_t *out) {
  __shared__ uint32_t flag;
  if (threadIdx.x == 0)
    flag = 0;
  __syncwarp();
  uint32_t spins = 0;
  if (threadIdx.x == 3) {
    while (atomicAdd(&flag, 0u) == 0)
      ++spins;
  } else if (threadIdx.x == 9) {
    __nanosleep(50);
    atomicExch(&flag, 1u);
  }
  __syncwarp();
  out[threadIdx.x] = flag + (threadIdx.x == 3 ? 0 : 10);
}

extern "C" __global__ void clocks(uint64_t *out) {
  uint64_t a, b;
  uint32_t lo, c;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(a)::"memory");
  asm volatile("mov.u32 %0, %clock;" : "=r"(c)::"memory");
  long long k = clock64();
  __nanosleep(1000);
  asm volatile("mov.u32 %0, %globaltimer_lo;" : "=r"(lo)::"memory");
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(b)::"memory");
  out[threadIdx.x] = (b >= a) + 2 * (clock64() >= k) + (lo == 0 && c == 1);
}

extern "C" __global__ void print(const float *a) {
  THREAD;
  if (t == 5)
    printf("t=%d x=%.3f %s 100%% %llu %c %08x|%-6d|\n", t, a[t], "words",
           1ull << 40, 'z', 0xbeefu, -7);
  if (t == 40)
    printf("plain\n");
}

extern "C" __global__ void check(const float *a, float *out) {
  THREAD;
  assert(a[t] >= 0.0f && "a must not be negative");
  out[t] = a[t];
}

extern "C" __global__ void early_exit(const int32_t *a, int32_t *out,
                                      uint32_t n) {
  THREAD;
  if (t >= n)
    return;
  __shared__ int32_t sum;
  if (threadIdx.x == 0)
    sum = 0;
  __syncthreads(); // exited warps and lanes count as arrived
  atomicAdd(&sum, a[t]);
  __syncthreads();
  out[t] = sum;
}

// Three dimensions, and every special register that says where a thread is.
extern "C" __global__ void where(uint32_t *out) {
  uint32_t cta = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  uint32_t thread =
      threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  uint32_t lane, nwarp;
  asm("mov.u32 %0, %laneid;" : "=r"(lane));
  asm("mov.u32 %0, %nwarpid;" : "=r"(nwarp));
  uint32_t at = cta * blockDim.x * blockDim.y * blockDim.z + thread;
  out[at] = threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z +
            1000 * blockIdx.x + 10000 * blockIdx.y + 100000 * blockIdx.z +
            1000000 * (lane == thread % 32) + 2000000 * (nwarp >= 1);
}
