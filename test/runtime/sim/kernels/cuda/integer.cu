// SPDX-License-Identifier: Apache-2.0
// targets: sm_80 sm_90a
// flags: -O3
// Integer and bit instructions, one result row per instruction. `b` is never
// zero.
#include <cstdint>

#define THREAD unsigned t = blockIdx.x * blockDim.x + threadIdx.x
#define BIN(row, op)                                                           \
  {                                                                            \
    uint32_t r;                                                                \
    asm volatile(op " %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));                \
    out[(row) * n + t] = r;                                                    \
  }
#define UN(row, op)                                                            \
  {                                                                            \
    uint32_t r;                                                                \
    asm volatile(op " %0, %1;" : "=r"(r) : "r"(x));                            \
    out[(row) * n + t] = r;                                                    \
  }
#define TRI(row, op, tail)                                                     \
  {                                                                            \
    uint32_t r;                                                                \
    asm volatile(op " %0, %1, %2, %3" tail ";"                                 \
                 : "=r"(r)                                                     \
                 : "r"(x), "r"(y), "r"(z));                                    \
    out[(row) * n + t] = r;                                                    \
  }

extern "C" __global__ void binary32(const uint32_t *a, const uint32_t *b,
                                    uint32_t *out, uint32_t n) {
  THREAD;
  uint32_t x = a[t], y = b[t];
  BIN(0, "add.s32")
  BIN(1, "sub.u32")
  BIN(2, "mul.lo.s32")
  BIN(3, "mul.hi.s32")
  BIN(4, "mul.hi.u32")
  BIN(5, "div.s32")
  BIN(6, "div.u32")
  BIN(7, "rem.s32")
  BIN(8, "rem.u32")
  BIN(9, "min.s32")
  BIN(10, "min.u32")
  BIN(11, "max.s32")
  BIN(12, "max.u32")
  BIN(13, "and.b32")
  BIN(14, "or.b32")
  BIN(15, "xor.b32")
  BIN(16, "add.sat.s32")
  BIN(17, "sub.sat.s32")
  BIN(18, "mul24.lo.s32")
  BIN(19, "mul24.hi.u32")
}

// The shift amount is taken from 0 … 63: PTX clamps it.
extern "C" __global__ void shifts32(const uint32_t *a, const uint32_t *b,
                                    uint32_t *out, uint32_t n) {
  THREAD;
  uint32_t x = a[t], y = b[t];
  BIN(0, "shl.b32")
  BIN(1, "shr.u32")
  BIN(2, "shr.s32")
  BIN(3, "bmsk.clamp.b32")
  BIN(4, "bmsk.wrap.b32")
  BIN(5, "szext.clamp.u32")
  BIN(6, "szext.wrap.s32")
}

extern "C" __global__ void unary32(const uint32_t *a, uint32_t *out,
                                   uint32_t n) {
  THREAD;
  uint32_t x = a[t];
  UN(0, "not.b32")
  UN(1, "neg.s32")
  UN(2, "abs.s32")
  UN(3, "cnot.b32")
  UN(4, "popc.b32")
  UN(5, "clz.b32")
  UN(6, "brev.b32")
  UN(7, "bfind.u32")
  UN(8, "bfind.s32")
  UN(9, "bfind.shiftamt.u32")
  UN(10, "bfind.shiftamt.s32")
}

extern "C" __global__ void ternary32(const uint32_t *a, const uint32_t *b,
                                     const uint32_t *c, uint32_t *out,
                                     uint32_t n) {
  THREAD;
  uint32_t x = a[t], y = b[t], z = c[t];
  TRI(0, "mad.lo.s32", "")
  TRI(1, "mad.hi.s32", "")
  TRI(2, "mad.hi.u32", "")
  TRI(3, "mad.hi.sat.s32", "")
  TRI(4, "sad.s32", "")
  TRI(5, "sad.u32", "")
  TRI(6, "lop3.b32", ", 0x96")
  TRI(7, "lop3.b32", ", 0xe8")
  TRI(8, "lop3.b32", ", 0x1b")
  TRI(9, "prmt.b32", "")
  TRI(10, "prmt.b32.f4e", "")
  TRI(11, "prmt.b32.b4e", "")
  TRI(12, "prmt.b32.rc8", "")
  TRI(13, "prmt.b32.ecl", "")
  TRI(14, "prmt.b32.ecr", "")
  TRI(15, "prmt.b32.rc16", "")
  TRI(16, "shf.l.clamp.b32", "")
  TRI(17, "shf.r.clamp.b32", "")
  TRI(18, "shf.l.wrap.b32", "")
  TRI(19, "shf.r.wrap.b32", "")
  TRI(20, "dp4a.s32.s32", "")
  TRI(21, "dp4a.u32.u32", "")
  TRI(22, "dp4a.s32.u32", "")
  TRI(23, "dp2a.lo.s32.s32", "")
  TRI(24, "dp2a.hi.u32.s32", "")
  TRI(25, "slct.u32.s32", "")
  TRI(26, "mad24.lo.u32", "")
}

// pos and len from 0 … 40 (the instruction looks at eight bits of each).
extern "C" __global__ void fields32(const uint32_t *a, const uint32_t *b,
                                    const uint32_t *pos, const uint32_t *len,
                                    uint32_t *out, uint32_t n) {
  THREAD;
  uint32_t x = a[t], y = pos[t], z = len[t], w = b[t], r;
  TRI(0, "bfe.u32", "")
  TRI(1, "bfe.s32", "")
  asm volatile("bfi.b32 %0, %1, %2, %3, %4;"
               : "=r"(r)
               : "r"(x), "r"(w), "r"(y), "r"(z));
  out[2 * n + t] = r;
  asm volatile("fns.b32 %0, %1, %2, %3;"
               : "=r"(r)
               : "r"(x), "r"(y & 31), "r"((int)(z % 9) - 4));
  out[3 * n + t] = r;
}

extern "C" __global__ void wide64(const uint64_t *a, const uint64_t *b,
                                  uint64_t *out, uint32_t n) {
  THREAD;
  uint64_t x = a[t], y = b[t], r;
  int row = 0;
  auto put = [&](uint64_t v) { out[row++ * n + t] = v; };
  put(x + y);
  put(x - y);
  put(x * y);
  put((uint64_t)((int64_t)x / (int64_t)y));
  put(x / y);
  put((uint64_t)((int64_t)x % (int64_t)y));
  put(x % y);
  put(__umul64hi(x, y));
  put((uint64_t)__mul64hi((int64_t)x, (int64_t)y));
  put((uint64_t)((int64_t)x < (int64_t)y ? x : y));
  put(x > y ? x : y);
  put(x << (y & 63));
  put(x >> (y & 63));
  put((uint64_t)((int64_t)x >> (y & 63)));
  put((uint64_t)__popcll(x));
  put((uint64_t)__clzll((int64_t)x));
  put(__brevll(x));
  put((x & y) | (~x ^ y));
  put((uint64_t)(uint32_t)x * (uint32_t)y);
  put((uint64_t)((int64_t)(int32_t)x * (int32_t)y + (int64_t)x));
  asm volatile("bfe.s64 %0, %1, 17, 23;" : "=l"(r) : "l"(x));
  put(r);
  asm volatile("bfi.b64 %0, %1, %2, 30, 20;" : "=l"(r) : "l"(x), "l"(y));
  put(r);
  put((uint64_t)((int64_t)x < 0 ? -x : x));
}

// 128 bits: a·b and a+b by carry chains.
extern "C" __global__ void carry128(const uint64_t *a, const uint64_t *b,
                                    uint64_t *out) {
  THREAD;
  unsigned __int128 x = (unsigned __int128)a[2 * t + 1] << 64 | a[2 * t];
  unsigned __int128 y = (unsigned __int128)b[2 * t + 1] << 64 | b[2 * t];
  unsigned __int128 r[3] = {x + y, x - y, x * y};
  for (int i = 0; i < 3; ++i) {
    out[(t * 3 + i) * 2] = (uint64_t)r[i];
    out[(t * 3 + i) * 2 + 1] = (uint64_t)(r[i] >> 64);
  }
  uint32_t lo, mid, hi;
  asm volatile("add.cc.u32 %0, %3, %6;\n\taddc.cc.u32 %1, %4, %7;\n\t"
               "addc.u32 %2, %5, %8;"
               : "=r"(lo), "=r"(mid), "=r"(hi)
               : "r"((uint32_t)x), "r"((uint32_t)(x >> 32)),
                 "r"((uint32_t)(x >> 64)), "r"((uint32_t)y),
                 "r"((uint32_t)(y >> 32)), "r"((uint32_t)(y >> 64)));
  out[gridDim.x * blockDim.x * 6 + t * 2] = (uint64_t)mid << 32 | lo;
  asm volatile("sub.cc.u32 %0, %3, %6;\n\tsubc.cc.u32 %1, %4, %7;\n\t"
               "subc.u32 %2, %5, %8;\n\t"
               "mad.lo.cc.u32 %0, %3, %6, %0;\n\tmadc.hi.u32 %2, %3, %6, %2;"
               : "=r"(lo), "=r"(mid), "=r"(hi)
               : "r"((uint32_t)x), "r"((uint32_t)(x >> 32)),
                 "r"((uint32_t)(x >> 64)), "r"((uint32_t)y),
                 "r"((uint32_t)(y >> 32)), "r"((uint32_t)(y >> 64)));
  out[gridDim.x * blockDim.x * 6 + t * 2 + 1] = (uint64_t)hi << 32 | lo;
}

// Predicates: setp with a second predicate and a boolean operator, set, selp.
extern "C" __global__ void predicates(const int32_t *a, const int32_t *b,
                                      const uint32_t *c, uint32_t *out,
                                      uint32_t n) {
  THREAD;
  int32_t x = a[t], y = b[t];
  uint32_t z = c[t], r;
#define PRED(row, text)                                                        \
  asm volatile("{\n\t.reg .pred p, q, s;\n\tsetp.ne.u32 s, %3, 0;\n\t" text    \
               "\n\t}"                                                         \
               : "=r"(r)                                                       \
               : "r"(x), "r"(y), "r"(z & 1));                                  \
  out[(row) * n + t] = r;
  PRED(0, "setp.lt.and.s32 p|q, %1, %2, s;\n\tselp.u32 %0, 1, 0, p;\n\t"
          "@q or.b32 %0, %0, 2;")
  PRED(1, "setp.hs.or.u32 p|q, %1, %2, !s;\n\tselp.u32 %0, 1, 0, p;\n\t"
          "@q or.b32 %0, %0, 2;")
  PRED(2, "setp.eq.xor.b32 p, %1, %2, s;\n\tselp.u32 %0, 5, 9, p;")
  PRED(3, "set.gt.u32.s32 %0, %1, %2;")
  PRED(4, "set.le.and.u32.u32 %0, %1, %2, s;")
  PRED(5, "setp.ls.u32 p, %1, %2;\n\txor.pred q, p, s;\n\tnot.pred q, q;\n\t"
          "and.pred p, p, q;\n\tor.pred p, p, !s;\n\tselp.u32 %0, 1, 0, p;")
  PRED(6, "mov.u32 %0, 7;\n\tmov.pred p, s;\n\t@!p bra skip;\n\t"
          "add.s32 %0, %1, %2;\n\tskip:")
}

// Sixteen bits: and two of them at once.
extern "C" __global__ void int16(const uint16_t *a, const uint16_t *b,
                                 uint16_t *out, uint32_t n) {
  THREAD;
  int16_t x = (int16_t)a[t], y = (int16_t)b[t];
#define BIN16(row, op)                                                         \
  {                                                                            \
    int16_t r;                                                                 \
    asm volatile(op " %0, %1, %2;" : "=h"(r) : "h"(x), "h"(y));                \
    out[(row) * n + t] = (uint16_t)r;                                          \
  }
  BIN16(0, "add.s16")
  BIN16(1, "sub.s16")
  BIN16(2, "mul.lo.s16")
  BIN16(3, "mul.hi.s16")
  BIN16(4, "mul.hi.u16")
  BIN16(5, "div.s16")
  BIN16(6, "rem.u16")
  BIN16(7, "min.s16")
  BIN16(8, "max.u16")
  BIN16(9, "and.b16")
  BIN16(10, "xor.b16")
  BIN16(11, "or.b16")
  out[12 * n + t] = (uint16_t)(x << (y & 15));
  out[13 * n + t] = (uint16_t)(x >> (y & 15));
  int32_t w;
  asm volatile("mul.wide.s16 %0, %1, %2;" : "=r"(w) : "h"(x), "h"(y));
  out[14 * n + t] = (uint16_t)((uint32_t)w >> 9);
  asm volatile("mad.wide.u16 %0, %1, %2, %0;" : "+r"(w) : "h"(x), "h"(y));
  out[15 * n + t] = (uint16_t)((uint32_t)w >> 9);
#if __CUDA_ARCH__ >= 900
  uint32_t p = (uint32_t)(uint16_t)x << 16 | (uint16_t)y, q = p * 2654435761u,
           r;
  asm volatile("add.u16x2 %0, %1, %2;" : "=r"(r) : "r"(p), "r"(q));
  out[16 * n + t] = (uint16_t)(r ^ r >> 16);
  asm volatile("min.s16x2 %0, %1, %2;" : "=r"(r) : "r"(p), "r"(q));
  out[17 * n + t] = (uint16_t)(r ^ r >> 16);
  asm volatile("max.u16x2 %0, %1, %2;" : "=r"(r) : "r"(p), "r"(q));
  out[18 * n + t] = (uint16_t)(r ^ r >> 16);
#endif
}
