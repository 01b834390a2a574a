// SPDX-License-Identifier: Apache-2.0
// targets: sm_80 sm_90a
// Shuffles, votes, match, redux, elect, lane masks, under whole and partial
// masks.
#include <cstdint>

#define ALL 0xffffffffu

extern "C" __global__ void shuffle(const int32_t *a, const int32_t *lanes,
                                   int32_t *out, uint32_t n) {
  uint32_t t = threadIdx.x, row = 0;
  int32_t x = a[t];
  auto put = [&](int32_t v) { out[row++ * n + t] = v; };
  put(__shfl_sync(ALL, x, lanes[t]));
  put(__shfl_sync(ALL, x, lanes[t] & 7, 8));
  put(__shfl_up_sync(ALL, x, 3));
  put(__shfl_up_sync(ALL, x, 1, 16));
  put(__shfl_down_sync(ALL, x, 5));
  put(__shfl_down_sync(ALL, x, 2, 4));
  put(__shfl_xor_sync(ALL, x, 21));
  put(__shfl_xor_sync(ALL, x, 3, 8));
  uint32_t r, inside;
  asm volatile("{.reg .pred p;\n\tshfl.sync.up.b32 %0|p, %2, 4, 0x0800, -1;\n\t"
               "selp.u32 %1, 1, 0, p;}"
               : "=r"(r), "=r"(inside)
               : "r"(x));
  put((int32_t)(r * 2 + inside));
  // Only the lanes of the mask take part.
  if ((t & 31) % 3 == 1)
    x = __shfl_sync(0x92492492u, x, 4);
  put(x);
}

extern "C" __global__ void vote(const uint32_t *a, uint32_t *out, uint32_t n) {
  uint32_t t = threadIdx.x, row = 0, lane = t & 31;
  uint32_t x = a[t];
  auto put = [&](uint32_t v) { out[row++ * n + t] = v; };
  put(__ballot_sync(ALL, x & 1));
  put(__all_sync(ALL, x < 1000));
  put(__any_sync(ALL, x > 990));
  uint32_t r;
  asm volatile("{.reg .pred p, q;\n\tsetp.gt.u32 p, %1, 500;\n\t"
               "vote.sync.uni.pred q, p, -1;\n\tselp.u32 %0, 1, 0, q;}"
               : "=r"(r)
               : "r"(x));
  put(r);
  put(__match_any_sync(ALL, x % 7));
  int all;
  put(__match_all_sync(ALL, x / 100000, &all));
  put((uint32_t)all);
  put((uint32_t)__match_any_sync(ALL, (unsigned long long)(x % 3) << 40));
  put(__reduce_add_sync(ALL, x));
  put(__reduce_min_sync(ALL, x));
  put((uint32_t)__reduce_max_sync(ALL, (int)x - 500));
  put(__reduce_and_sync(ALL, x));
  put(__reduce_or_sync(ALL, x));
  put(__reduce_xor_sync(ALL, x));
  uint32_t some = 0;
  if (lane >= 8 && lane < 24)
    some =
        __reduce_add_sync(0x00ffff00u, x) + __ballot_sync(0x00ffff00u, x & 2);
  put(some);
  uint32_t lt, le, gt, ge, eq;
  asm("mov.u32 %0, %lanemask_lt;" : "=r"(lt));
  asm("mov.u32 %0, %lanemask_le;" : "=r"(le));
  asm("mov.u32 %0, %lanemask_gt;" : "=r"(gt));
  asm("mov.u32 %0, %lanemask_ge;" : "=r"(ge));
  asm("mov.u32 %0, %lanemask_eq;" : "=r"(eq));
  put(lt ^ (le << 1) ^ (gt >> 1) ^ ge ^ (eq * 3));
  uint32_t warp, id;
  asm("mov.u32 %0, %warpid;" : "=r"(warp));
  asm volatile("mov.u32 %0, %laneid;" : "=r"(id));
  put(id * 64 + (__shfl_sync(ALL, warp, 0) == warp));
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void elect(uint32_t *out) {
  uint32_t leader, chosen;
  asm volatile("{.reg .pred p;\n\telect.sync %0|p, 0xffffffff;\n\t"
               "selp.u32 %1, 1, 0, p;}"
               : "=r"(leader), "=r"(chosen));
  uint32_t many = __reduce_add_sync(ALL, chosen);
  // The leader is one lane of the mask, the same for all.
  out[threadIdx.x] = many * 100 + (__shfl_sync(ALL, chosen, leader)) * 10 +
                     (__reduce_max_sync(ALL, leader) == leader);
}
#endif
