// SPDX-License-Identifier: Apache-2.0
// targets: sm_80
// Between thread blocks: tickets, flags with release and acquire, the last
// block that finishes a sum, a barrier over the whole grid.
#include <cstdint>

__device__ __forceinline__ uint32_t acquire(const uint32_t *p) {
  uint32_t v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
               : "=r"(v)
               : "l"(p)
               : "memory");
  return v;
}
__device__ __forceinline__ void release(uint32_t *p, uint32_t v) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v)
               : "memory");
}

// Blocks take numbers; block k adds to what block k − 1 left, in that order. It
// needs only those before it, which hold their numbers already: no order of
// blocks can hang it.
extern "C" __global__ void ordered_sum(const float *a, float *sum,
                                       uint32_t *ticket, uint32_t *turn) {
  __shared__ uint32_t mine;
  if (threadIdx.x == 0) {
    mine = atomicAdd(ticket, 1);
    while (acquire(turn) != mine)
      ;
  }
  __syncthreads();
  sum[threadIdx.x] =
      sum[threadIdx.x] * 0.5f + a[mine * blockDim.x + threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0)
    release(turn, mine + 1);
}

// The block that arrives last adds up what all left behind (fence and atomic).
extern "C" __global__ void last_block(const float *a, float *partial,
                                      float *sum, uint32_t *arrived) {
  __shared__ float values[64];
  __shared__ bool last;
  unsigned t = threadIdx.x;
  values[t] = a[blockIdx.x * 64 + t];
  __syncthreads();
#pragma unroll 1
  for (unsigned s = 32; s > 0; s >>= 1) {
    if (t < s)
      values[t] += values[t + s];
    __syncthreads();
  }
  if (t == 0) {
    partial[blockIdx.x] = values[0];
    __threadfence();
    last = atomicAdd(arrived, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && t == 0) {
    __threadfence();
    float r = 0;
    for (unsigned i = 0; i < gridDim.x; ++i)
      r += partial[i];
    *sum = r;
  }
}

// The same by one instruction: arrive with acq_rel.
extern "C" __global__ void last_block_acq_rel(const float *a, float *partial,
                                              float *sum, uint32_t *arrived) {
  unsigned t = threadIdx.x;
  float v = a[blockIdx.x * 32 + t];
  for (int i = 16; i > 0; i >>= 1)
    v += __shfl_xor_sync(0xffffffffu, v, i);
  if (t == 0) {
    partial[blockIdx.x] = v;
    uint32_t before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
                 : "=r"(before)
                 : "l"(arrived)
                 : "memory");
    if (before == gridDim.x - 1) {
      float r = 0;
      for (unsigned i = 0; i < gridDim.x; ++i)
        r += partial[i];
      *sum = r;
    }
  }
}

// Everyone waits for everyone: right only when all blocks are resident.
extern "C" __global__ void grid_barrier(const uint32_t *a, uint32_t *middle,
                                        uint32_t *out, uint32_t *arrived) {
  unsigned n = gridDim.x * blockDim.x,
           t = blockIdx.x * blockDim.x + threadIdx.x;
  middle[t] = a[t] * 3;
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrived)
                 : "memory");
    while (acquire(arrived) < gridDim.x)
      ;
  }
  __syncthreads();
  out[t] = middle[n - 1 - t];
}

// Block 1 waits for block 0's flag. Fences around relaxed accesses.
extern "C" __global__ void message(const uint32_t *a, uint32_t *data,
                                   uint32_t *flag, uint32_t *out) {
  __shared__ uint32_t role;
  if (threadIdx.x == 0)
    role = atomicAdd(flag + 1, 1);
  __syncthreads();
  if (role == 0) {
    data[threadIdx.x] = a[threadIdx.x] + 1;
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile("fence.acq_rel.gpu;" ::: "memory");
      asm volatile("st.relaxed.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
    }
  } else {
    if (threadIdx.x == 0) {
      uint32_t v;
      do
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                     : "=r"(v)
                     : "l"(flag)
                     : "memory");
      while (v == 0);
      asm volatile("fence.acq_rel.gpu;" ::: "memory");
    }
    __syncthreads();
    out[threadIdx.x] = data[threadIdx.x] * 2;
  }
}

// Broken on purpose: nothing orders the blocks (expected: a race).
extern "C" __global__ void race_between_blocks(uint32_t *out) {
  out[threadIdx.x] = blockIdx.x;
}

// Broken on purpose: the barrier between write and read is missing.
extern "C" __global__ void race_in_shared(const uint32_t *a, uint32_t *out) {
  __shared__ uint32_t s[64];
  s[threadIdx.x] = a[threadIdx.x];
  out[threadIdx.x] = s[63 - threadIdx.x];
}

// Broken on purpose: waits for a block that need not be resident.
extern "C" __global__ void relies_on_order(uint32_t *flag, uint32_t *out) {
  if (blockIdx.x == gridDim.x - 1)
    release(flag, 7);
  else
    while (acquire(flag) == 0)
      ;
  out[blockIdx.x] = acquire(flag);
}

// Broken on purpose: half the warps never come.
extern "C" __global__ void deadlock(uint32_t *out) {
  if (threadIdx.x >= 32)
    asm volatile("bar.sync 1, 96;" ::: "memory");
  out[threadIdx.x] = 1;
}

extern "C" __global__ void out_of_bounds(const uint32_t *a, uint32_t *out) {
  out[threadIdx.x] = a[threadIdx.x + 1];
}

extern "C" __global__ void misaligned(const uint8_t *a, uint32_t *out) {
  out[threadIdx.x] =
      *(const uint32_t *)(a + 4 * threadIdx.x + (threadIdx.x == 17));
}

extern "C" __global__ void uninitialised(uint32_t *out) {
  __shared__ uint32_t s[32];
  if (threadIdx.x != 9)
    s[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
