// SPDX-License-Identifier: Apache-2.0
//
// What is undefined, in registers and in memory: what hands undefined bits on
// does so bit by bit, and who uses one is told, with where it came from.
// Compilers (LLVM's packing of bytes) leave out what is masked away later;
// tiles that reach beyond a matrix are read with rows that nobody wrote.
#include "test/runtime/TestName.h"
#include "test/runtime/sim/RunKernel.h"
#include "test/runtime/sim/RunSnippet.h"
#include <gtest/gtest.h>

using namespace act::runtime::sim;

namespace {

struct Case {
  const char *name;
  const char *body;        // %u (32 bits), %h (16), %w (64) are never written
  const char *expected;    // of the first finding; "" for none
  bool strictOnly = false; // a store that nobody looks at
};

// a is 0x03020100 + lane, d the result.
const Case cases[] = {
    // ---- undefined bits that nobody uses
    {"bytes masked away", "prmt.b32 t, a, u, 0x5410; and.b32 d, t, 0xffff;",
     ""},
    {"beside it in a vector", "mov.v2.b32 {d, t}, {a, u};", ""},
    {"bytes that are not selected", "prmt.b32 d, a, u, 0x1032;", ""},
    {"packing two never written first",
     "prmt.b32 t, u, v, 0x3340; prmt.b32 t, a, t, 0x5410;"
     "and.b32 t, t, 65535; shl.b32 s, a, 16; or.b32 d, s, t;",
     ""},
    {"shifted out to the right", "mov.b32 t, {h, g}; shr.u32 d, t, 16;", ""},
    {"shifted out to the left", "prmt.b32 t, a, u, 0x4010; shl.b32 d, t, 8;",
     ""},
    {"an extracted field", "prmt.b32 t, a, u, 0x4410; bfe.u32 d, t, 8, 8;", ""},
    {"overwritten by a field",
     "prmt.b32 t, a, u, 0x4010; bfi.b32 d, a, t, 24, 8;", ""},
    {"masked by lop3",
     "prmt.b32 t, a, u, 0x5410; lop3.b32 d, t, 0xffff, a, 0xea;", ""},
    {"the other half unpacked",
     "mov.b32 t, {g, h}; mov.b32 {g, h2}, t; cvt.u32.u16 d, g;", ""},
    {"narrowed and widened",
     "prmt.b32 t, a, u, 0x4440; cvt.u16.u32 h2, t; cvt.u32.u8 d, h2;", ""},
    {"the low half of a pair of words", "mov.b64 x, {a, u}; cvt.u32.u64 d, x;",
     ""},
    {"a store of the low byte",
     "prmt.b32 t, a, u, 0x4440; mov.b32 d, 0;"
     "mov.u32 s, %laneid; st.shared.u8 [s], t;",
     ""},
    {"arithmetic below the undefined bits",
     "prmt.b32 t, a, u, 0x5410; add.s32 t, t, a; mul.lo.s32 t, t, 3;"
     "sub.s32 t, t, a; and.b32 d, t, 0xffff;",
     ""},
    {"the chosen one of two", "selp.b32 t, a, u, yes; mov.b32 d, t;", ""},
    {"a shuffle of packed bytes",
     "prmt.b32 t, a, u, 0x5410; shfl.sync.bfly.b32 t, t, 1, 31, 0xffffffff;"
     "and.b32 d, t, 0xffff;",
     ""},
    {"a register with itself", "xor.b32 d, u, u;", ""},
    {"the target is a source",
     "prmt.b32 u, a, u, 0x5410; and.b32 u, u, 0xffff; mov.b32 d, u;", ""},
    // ---- and those that matter
    {"stored", "mov.b32 d, u;", "d, computed from u, which was never written"},
    {"never written itself",
     "mov.b32 d, 0; mov.b32 t, 0; @one st.shared.b32 [t], u;",
     "uses u, which was never written", true},
    {"a byte stored", "prmt.b32 d, a, u, 0x5410;", "d, computed from u,"},
    {"masked too little", "prmt.b32 t, a, u, 0x5410; and.b32 d, t, 0x1ffff;",
     "d, computed from u,"},
    {"sign of an undefined byte",
     "prmt.b32 t, u, a, 0x0004; prmt.b32 d, t, a, 0x9994;",
     "d, computed from u,"},
    {"a sign extended",
     "prmt.b32 t, a, u, 0x4410; shl.b32 t, t, 8; shr.s32 d, t, 24;",
     "d, computed from u,"},
    {"an undefined amount", "shl.b32 t, a, u; and.b32 d, t, 0xff;",
     "d, computed from u,"},
    {"an undefined selector", "prmt.b32 t, a, a, u; and.b32 d, t, 0xff;",
     "d, computed from u,"},
    {"two that differ", "xor.b32 d, u, v;", "which was never written"},
    {"a carry into what is kept",
     "prmt.b32 t, a, u, 0x3254; add.s32 t, t, a; and.b32 d, t, 0xff0000;",
     "d, computed from u,"},
    {"a high product", "prmt.b32 t, a, u, 0x5410; mul.hi.u32 d, t, 2;",
     "d, computed from u,"},
    {"a number made of it", "prmt.b32 t, a, u, 0x5410; cvt.rn.f32.u32 d, t;",
     "d, computed from u,"},
    {"a comparison",
     "prmt.b32 t, a, u, 0x5410; setp.eq.u32 p, t, 0; mov.b32 d, 0;"
     "@p mov.b32 d, 1;",
     "guarded by p, computed from u, which was never written"},
    {"an address",
     "prmt.b32 t, a, u, 0x5410; and.b32 t, t, 0x10000; mov.b32 d, 0;"
     "@one st.shared.u8 [t], d;",
     "uses t, computed from u, which was never written"},
    {"the wrong one of two", "selp.b32 d, u, a, yes;", "d, computed from u,"},
    {"an undefined choice", "setp.eq.u32 p, u, 0; selp.b32 d, a, a, p;",
     "d, computed from u,"},
    {"half a shuffle",
     "prmt.b32 t, a, u, 0x5410; shfl.sync.bfly.b32 d, t, 1, 31, 0xffffffff;",
     "d, computed from u,"},
    {"the other half of a pair", "mov.b64 x, {a, u}; mov.b64 {t, d}, x;",
     "d, computed from u,"},
    {"written again, then undefined again",
     "prmt.b32 t, a, u, 0x5410; mov.b32 t, a; mov.b32 t, u; mov.b32 d, t;",
     "d, computed from u,"},
    {"in some lanes only",
     "prmt.b32 t, a, u, 0x5410; @yes mov.b32 t, a; add.s32 d, t, 1;"
     "@!yes mov.b32 u, a; add.s32 d, u, 1;",
     "d, computed from u,"},
};

class Undefined : public testing::TestWithParam<Case> {};

void expectUse(const Case &c, bool strict) {
  Snippet s(".reg .b32 t, s, u, v; .reg .b16 g, h, h2; .reg .b64 x;"
            ".reg .pred p, one; .shared .b8 room[32]; mov.b16 g, 7;"
            "mov.u32 s, %laneid; setp.eq.u32 one, s, 0;" +
            std::string(c.body));
  s.target = "sm_80";
  s.version = "7.0";
  s.findingsAllowed = true;
  s.options.strict = strict;
  s.in<uint32_t>("a", [](int lane) { return 0x03020100u + unsigned(lane); });
  s.inPredicate("yes",
                std::string(c.name) == "in some lanes only" ? 0xff : ~0u);
  s.out<uint32_t>("d");
  ASSERT_TRUE(s.run()) << s.error;
  std::string all;
  for (const Finding &f : s.findings)
    all += f.str() + "\n";
  if (!*c.expected || (c.strictOnly && !strict)) {
    EXPECT_EQ(all, "");
    return;
  }
  ASSERT_FALSE(s.findings.empty());
  for (const Finding &f : s.findings)
    EXPECT_EQ(f.kind, FindingKind::Uninitialised);
  EXPECT_NE(s.findings[0].message.find(c.expected), std::string::npos) << all;
}

TEST_P(Undefined, IsWhatIsUsed) {
  expectUse(GetParam(), false);
  expectUse(GetParam(), true);
}

INSTANTIATE_TEST_SUITE_P(Snippets, Undefined, testing::ValuesIn(cases),
                         [](auto &info) { return testName(info.param.name); });

// What was in a register stays when undefined bits are tried out.
TEST(Undefined, ValuesStay) {
  Snippet s(".reg .b32 t, u; prmt.b32 t, a, u, 0x5410; and.b32 d, t, 0xffff;"
            "mov.b32 b, a; prmt.b32 b, b, u, 0x1032;");
  s.target = "sm_80";
  s.version = "7.0";
  s.in<uint32_t>("a",
                 [](int lane) { return 0x01010101u * unsigned(lane + 1); });
  s.out<uint32_t>("d").out<uint32_t>("b");
  ASSERT_TRUE(s.run()) << s.error;
  for (unsigned lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(s.get<uint32_t>("d")[lane], 0x0101u * (lane + 1));
    EXPECT_EQ(s.get<uint32_t>("b")[lane], 0x01010101u * (lane + 1));
  }
}

// ---- through memory

// One warp; s is 1024 bytes of shared memory, of which what the body does not
// write was never written. %r0: the lane; p0: 64 words for the host; far:
// global memory that it does not take.
Kernel memoryKernel(const std::string &body, size_t words = 64) {
  Kernel k;
  k.functions = ".visible .global .align 16 .b8 far[1024];\n"
                ".extern .func (.param .b32 n) vprintf (.param .b64 format, "
                ".param .b64 arguments);\n"
                ".visible .global .b8 text[4] = {37, 117, 10, 0};\n"
                ".func (.param .b32 y) same(.param .b32 x) {\n"
                ".reg .b32 v; ld.param.b32 v, [x]; st.param.b32 [y], v; ret; "
                "}\n";
  k.shared = ".shared .align 128 .b8 s[1024]; .shared .align 8 .b64 bar;"
             ".reg .b32 %d<8>; .reg .b64 %w<2>; .local .align 8 .b8 own[16];";
  k.body = "mov.u32 %r0, %laneid; ld.param.u64 %rd0, [p0];"
           "mul.wide.u32 %rd1, %r0, 4; add.u64 %rd1, %rd1, %rd0;"
           "mov.u32 %r1, s; shl.b32 %r2, %r0, 2; add.u32 %r2, %r2, %r1;"
           "shr.u32 %r3, %r0, 2; and.b32 %r4, %r0, 3;"
           "shl.b32 %r5, %r0, 4; add.u32 %r5, %r5, %r1;"
           "mov.u64 %rd3, far; cvta.global.u64 %rd3, %rd3;\n" +
           body;
  k.output<uint32_t>(words);
  return k;
}

struct MemoryCase {
  const char *name, *body;
  /// Parts of one finding, which is the only one; none: there is no finding.
  std::vector<std::string> expected;
  const char *strict = nullptr; // the first finding with Options::strict
};

// Row r of an 8 × 8 matrix of f16 lies at s + 16 r; the first five are written.
#define FIVE_ROWS                                                              \
  "setp.lt.u32 %p0, %r0, 5; mov.b32 %d0, 0x3c003c00;"                          \
  "@%p0 st.shared.v4.b32 [%r5], {%d0, %d0, %d0, %d0}; bar.warp.sync -1;"
// A 16 × 16 tile by rows at s, B of 16 × 8 by columns at s + 512; of row or
// column n the last `skip` are left out.
#define TILE(skipA, skipB)                                                     \
  "mov.b32 %d0, 0; shl.b32 %r6, %r0, 5; add.u32 %r6, %r6, %r1;"                \
  "setp.lt.u32 %p0, %r0, " #skipA ";"                                          \
  "@%p0 st.shared.v4.b32 [%r6], {%d0, %d0, %d0, %d0};"                         \
  "@%p0 st.shared.v4.b32 [%r6+16], {%d0, %d0, %d0, %d0};"                      \
  "setp.lt.u32 %p0, %r0, " #skipB ";"                                          \
  "@%p0 st.shared.v4.b32 [%r6+512], {%d0, %d0, %d0, %d0};"                     \
  "@%p0 st.shared.v4.b32 [%r6+528], {%d0, %d0, %d0, %d0};"                     \
  "bar.warp.sync -1; and.b32 %r7, %r0, 15; shl.b32 %r7, %r7, 5;"               \
  "shr.u32 %r8, %r0, 4; shl.b32 %r8, %r8, 4; add.u32 %r7, %r7, %r8;"           \
  "add.u32 %r7, %r7, %r1; and.b32 %r9, %r0, 7; shl.b32 %r9, %r9, 5;"           \
  "shr.u32 %r8, %r0, 3; and.b32 %r8, %r8, 1; shl.b32 %r8, %r8, 4;"             \
  "add.u32 %r9, %r9, %r8; add.u32 %r9, %r9, %r1;"                              \
  "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r7];"  \
  "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r14, %r15}, [%r9+512];"          \
  "mov.b32 %f0, 0; mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "         \
  "{%f1, %f2, %f3, %f4}, {%r10, %r11, %r12, %r13}, {%r14, %r15},"              \
  "{%f0, %f0, %f0, %f0};"

const char *const never =
    "memory that was never written (such as shared memory + ";

const MemoryCase memoryCases[] = {
    // ---- tiles with rows that nobody wrote
    {"ragged rows masked by a select",
     FIVE_ROWS "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%d1}, [%r5];"
               "setp.lt.u32 %p1, %r3, 5; selp.b32 %d1, %d1, 0, %p1;"
               "st.global.b32 [%rd1], %d1;",
     {},
     "reads memory that was never written"},
    {"ragged rows that are not masked",
     FIVE_ROWS "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%d1}, [%r5];"
               "st.global.b32 [%rd1], %d1;",
     {"stores %d1, computed from ", never,
      "+ 80 (of 1032 bytes), s + 80), read "
      "by ldmatrix",
      "at line", "the host gets 48 bytes of that"},
     "reads memory that was never written"},
    {"ragged columns, transposed",
     FIVE_ROWS "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%d1}, [%r5];"
               "setp.lt.u32 %p1, %r4, 2; selp.b32 %d2, %d1, 0, %p1;"
               "setp.eq.u32 %p1, %r4, 2; and.b32 %d3, %d1, 0xffff;"
               "selp.b32 %d2, %d3, %d2, %p1; st.global.b32 [%rd1], %d2;",
     {}},
    {"the odd column of those",
     FIVE_ROWS "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%d1}, [%r5];"
               "setp.le.u32 %p1, %r4, 2; selp.b32 %d2, %d1, 0, %p1;"
               "st.global.b32 [%rd1], %d2;",
     {"stores %d2", "s + 80", "the host gets 16 bytes"}},
    {"moved, stored and loaded again",
     FIVE_ROWS
     "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%d1}, [%r5];"
     "movmatrix.sync.aligned.m8n8.trans.b16 %d1, %d1;"
     "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r5+512], {%d1};"
     "bar.warp.sync -1; ld.shared.v4.b32 {%d2, %d3, %d4, %d5}, [%r5+512];"
     "setp.lt.u32 %p1, %r0, 5; @%p1 st.global.b32 [%rd1], %d5;",
     {}},
    {"moved, stored and too much of it loaded",
     FIVE_ROWS
     "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%d1}, [%r5];"
     "movmatrix.sync.aligned.m8n8.trans.b16 %d1, %d1;"
     "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r5+512], {%d1};"
     "bar.warp.sync -1; ld.shared.v4.b32 {%d2, %d3, %d4, %d5}, [%r5+512];"
     "setp.lt.u32 %p1, %r0, 6; @%p1 st.global.b32 [%rd1], %d5;",
     {"stores %d5, computed from", "s + 80", "read by ldmatrix",
      "the host gets 4 bytes"}},
    {"a product with rows and columns that are dropped",
     TILE(13, 6) "setp.lt.u32 %p1, %r4, 3; @%p1 st.global.f32 [%rd1], %f1;"
                 "setp.lt.and.u32 %p2, %r3, 5, %p1; @%p2 st.global.f32 "
                 "[%rd1+128], %f4;",
     {},
     "reads memory that was never written"},
    {"a row of it that is not",
     TILE(13, 8) "st.global.f32 [%rd1], %f1;"
                 "setp.lt.u32 %p1, %r3, 6; @%p1 st.global.f32 [%rd1+128], %f3;",
     {"stores %f3, computed from", "s + 416", "read by ldmatrix",
      "the host gets 16 bytes"}},
    {"0 times an undefined column",
     TILE(16, 7) "st.global.f32 [%rd1], %f1; st.global.f32 [%rd1+128], %f2;",
     {"stores %f2, computed from", "s + 736", "the host gets 32 bytes"}},
    {"an undefined element of C",
     TILE(16, 8) "setp.eq.u32 %p1, %r0, 9; @!%p1 mov.f32 %f5, %f0;"
                 "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, "
                 "%f3, %f4},"
                 "{%r10, %r11, %r12, %r13}, {%r14, %r15}, {%f0, %f5, %f0, %f0};"
                 "st.global.f32 [%rd1], %f1; st.global.f32 [%rd1+128], %f2;",
     {"stores %f2, computed from %f5, which was never written",
      "the host gets 4 bytes"}},
    {"the stage behind the last, read ahead and dropped",
     "mov.u32 %r6, 0; mov.u32 %d2, 0; st.shared.b32 [%r2], %r0;"
     "bar.warp.sync -1; ld.shared.b32 %d1, [%r2];\n"
     "round: mov.b32 %d3, %d1; add.u32 %r2, %r2, 128; add.u32 %r6, %r6, 1;"
     "setp.lt.u32 %p1, %r6, 2; @%p1 st.shared.b32 [%r2], %r6;"
     "bar.warp.sync -1; ld.shared.b32 %d1, [%r2]; add.u32 %d2, %d2, %d3;"
     "@%p1 bra round; st.global.b32 [%rd1], %d2;",
     {},
     "reads memory that was never written"},
    // ---- on the way
    {"from memory to memory and to the host",
     "ld.shared.b32 %d1, [%r2]; st.shared.b32 [%r2+256], %d1;"
     "ld.shared.b32 %d2, [%r2+256]; mul.wide.u32 %rd2, %r0, 4;"
     "add.u64 %rd3, %rd3, %rd2;"
     "st.global.b32 [%rd3], %d2; ld.global.b32 %d3, [%rd3];"
     "add.u32 %d4, %d3, 1; st.global.b32 [%rd1], %d4;",
     {"stores %d4, computed from", "s + 0), read by ld.shared.b32", "address",
      "'p0' + 0 (of 256 bytes)", "the host gets 128 bytes"}},
    {"memory that the host does not take",
     "ld.shared.b32 %d1, [%r2]; mul.wide.u32 %rd2, %r0, 4;"
     "add.u64 %rd2, %rd2, %rd3; st.global.b32 [%rd2], %d1;",
     {},
     "reads memory that was never written"},
    {"overwritten before anybody looks",
     "ld.shared.b32 %d1, [%r2]; st.global.b32 [%rd1], %d1;"
     "st.global.b32 [%rd1], %r0;",
     {}},
    {"overwritten in part",
     "ld.shared.b32 %d1, [%r2]; st.global.b32 [%rd1], %d1;"
     "st.global.u16 [%rd1+2], %r0;",
     {"stores %d1", "the host gets 64 bytes"}},
    {"by cp.async",
     "mul.wide.u32 %rd2, %r0, 4; add.u64 %rd2, %rd2, %rd3;"
     "ld.shared.b32 %d1, [%r2]; st.global.b32 [%rd2], %d1;"
     "cp.async.ca.shared.global [%r2+512], [%rd2], 4; cp.async.wait_all;"
     "ld.shared.b32 %d2, [%r2+512]; st.global.b32 [%rd1], %d2;",
     {"stores %d2, computed from", "s + 0), read by ld.shared.b32"}},
    {"cp.async that takes none of it",
     "mul.wide.u32 %rd2, %r0, 4; add.u64 %rd2, %rd2, %rd3;"
     "ld.shared.b32 %d1, [%r2]; st.global.b32 [%rd2], %d1;"
     "cp.async.ca.shared.global [%r2+512], [%rd2], 4, 0; cp.async.wait_all;"
     "ld.shared.b32 %d2, [%r2+512]; st.global.b32 [%rd1], %d2;",
     {}},
    {"by a bulk copy, of which the first half was written",
     "setp.lt.u32 %p0, %r0, 16; @%p0 st.shared.b32 [%r2], %r0;"
     "fence.proxy.async.shared::cta; bar.warp.sync -1; setp.eq.u32 %p1, %r0, 0;"
     "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r1], 128;"
     "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
     {"copies ", never, "+ 64", "read by cp.async.bulk", "'p0' + 64",
      "the host gets 64 bytes"},
     "reads memory that was never written"},
    {"added by a bulk copy",
     "st.global.b32 [%rd1], %r0; setp.ne.u32 %p0, %r0, 3;"
     "@%p0 st.shared.b32 [%r2], %r0; bar.warp.sync -1;"
     "fence.proxy.async; setp.eq.u32 %p1, %r0, 0; bar.warp.sync -1;"
     "@%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd0], "
     "[%r1], 128; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
     {"copies ", "s + 12", "'p0' + 12", "the host gets 4 bytes"}},
    {"added by a bulk copy to what was never written",
     "setp.ne.u32 %p0, %r0, 3; @%p0 st.global.b32 [%rd1], %r0;"
     "st.shared.b32 [%r2], %r0; fence.proxy.async; bar.warp.sync -1;"
     "setp.eq.u32 %p1, %r0, 0;"
     "@%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd0], "
     "[%r1], 128; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
     {"copies ", "'p0' + 12", "read by cp.reduce", "the host gets 4 bytes"}},
    {"added atomically to what was never written",
     "red.global.add.u32 [%rd1], 1;",
     {"'p0' + 0", "read by red.global.add.u32", "the host gets 128 bytes"}},
    {"atomics on what was never written",
     "atom.shared.add.u32 %d1, [%r2], 1; st.global.b32 [%rd1], %d1;",
     {"stores %d1, computed from", "s + 0), read by atom"},
     "reads memory that was never written"},
    {"what atomics leave there",
     "red.shared.or.b32 [%r2], 1; ld.shared.b32 %d2, [%r2];"
     "st.global.b32 [%rd1], %d2;",
     {"stores %d2, computed from", "s + 0), read by red.shared"}},
    {"an exchange with what was never written",
     "atom.shared.exch.b32 %d1, [%r2], %r0; ld.shared.b32 %d2, [%r2];"
     "st.global.b32 [%rd1], %d2;",
     {}},
    {"what is added atomically",
     "st.shared.b32 [%r2], 1; red.shared.add.u32 [%r2], %d7;"
     "ld.shared.b32 %d2, [%r2]; st.global.b32 [%rd1], %d2;",
     {"stores %d2, computed from %d7, which was never written"}},
    {"through a function and local memory",
     "st.local.b32 [own+4], %d7; ld.local.b32 %d1, [own+4];"
     "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %d1;"
     "call (y), same, (x); ld.param.b32 %d2, [y]; }"
     "st.global.b32 [%rd1], %d2;",
     {"stores %d2, computed from %d7, which was never written"}},
    {"local memory that is written again",
     "st.local.b32 [own+4], %d7; st.local.b32 [own+4], %r0;"
     "ld.local.b32 %d1, [own+4]; st.global.b32 [%rd1], %d1;",
     {}},
    {"through fragments of wmma",
     "setp.lt.u32 %p0, %r0, 12; mov.b32 %d0, 0;"
     "shl.b32 %r6, %r0, 5; add.u32 %r6, %r6, %r1;"
     "@%p0 st.shared.v4.b32 [%r6], {%d0, %d0, %d0, %d0};"
     "@%p0 st.shared.v4.b32 [%r6+16], {%d0, %d0, %d0, %d0}; bar.warp.sync -1;"
     "wmma.load.c.sync.aligned.row.m16n16k16.shared.f16 "
     "{%d1, %d2, %d3, %d4}, [%r1], 16;"
     "wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 "
     "[%r1+512], {%d1, %d2, %d3, %d4}, 16; bar.warp.sync -1;"
     "shl.b32 %r7, %r0, 4; add.u32 %r7, %r7, %r1;"
     "ld.shared.b32 %d5, [%r7+512]; setp.lt.u32 %p1, %r0, 25;"
     "@%p1 st.global.b32 [%rd1], %d5;",
     {"stores %d5", "s + 384), read by wmma.load", "the host gets 4 bytes"}},
    // ---- uses
    {"an address",
     "ld.shared.b32 %d1, [%r2]; ld.shared.b32 %d2, [%d1];",
     {"uses %d1, computed from", never, "s + 0), read by ld.shared.b32"},
     "reads memory that was never written"},
    {"a branch",
     "ld.shared.b32 %d1, [%r2]; setp.eq.u32 %p1, %d1, 0; @%p1 bra out;\nout:",
     {"guarded by %p1, computed from", never, "read by ld.shared.b32"},
     "reads memory that was never written"},
    {"a barrier's operand",
     "ld.shared.b32 %d1, [%r1]; and.b32 %d1, %d1, 1; bar.sync %d1, 32;",
     {"uses %d1, computed from", never},
     "reads memory that was never written"},
    {"a member mask",
     "ld.shared.b32 %d1, [%r1]; not.b32 %d1, %d1;"
     "shfl.sync.bfly.b32 %d2, %r0, 2, 31, %d1;",
     {"uses %d1, computed from"}},
    {"an mbarrier's count",
     "ld.shared.b32 %d1, [%r1]; or.b32 %d1, %d1, 1; setp.eq.u32 %p1, %r0, 0;"
     "@%p1 mbarrier.init.shared.b64 [bar], %d1;",
     {"uses %d1, computed from"}},
    {"the size of a copy",
     "ld.shared.b32 %d1, [%r2]; and.b32 %d1, %d1, 4;"
     "cp.async.ca.shared.global [%r2+512], [%rd3], 4, %d1; cp.async.wait_all;",
     {"uses %d1, computed from"}},
    {"another lane's vote",
     "setp.eq.u32 %p1, %r0, 7; @!%p1 mov.b32 %d7, 0; setp.ne.u32 %p2, %d7, 0;"
     "vote.sync.ballot.b32 %d1, %p2, -1; and.b32 %d2, %d1, 0xffff7f;"
     "st.global.b32 [%rd1], %d2; vote.sync.any.pred %p3, %p2, -1;"
     "@%p3 bra out;\nout:",
     {"guarded by %p3, computed from %d7, which was never written"}},
    {"another lane's bit of a vote",
     "setp.eq.u32 %p1, %r0, 7; @!%p1 mov.b32 %d7, 0; setp.ne.u32 %p2, %d7, 0;"
     "vote.sync.ballot.b32 %d1, %p2, -1; and.b32 %d2, %d1, 0xff;"
     "st.global.b32 [%rd1], %d2;",
     {"stores %d2, computed from %d7, which was never written"}},
    {"another lane's share of a sum",
     "setp.eq.u32 %p1, %r0, 7; @!%p1 mov.b32 %d7, 0;"
     "redux.sync.add.u32 %d1, %d7, -1; st.global.b32 [%rd1], %d1;",
     {"stores %d1, computed from %d7, which was never written",
      "the host gets 128 bytes"}},
    {"printed",
     "setp.eq.u32 %p1, %r0, 0; ld.shared.b32 %d1, [%r1]; @!%p1 bra out;"
     "st.local.b32 [own], %d1; mov.u64 %w0, own; cvta.local.u64 %w0, %w0;"
     "mov.u64 %w1, text; cvta.global.u64 %w1, %w1;"
     "{ .param .b64 f; .param .b64 a; .param .b32 n; st.param.b64 [f], %w1;"
     "st.param.b64 [a], %w0; call (n), vprintf, (f, a); }\nout:",
     {"is given", never, "read by ld.shared.b32"},
     "reads memory that was never written"},
};

class UndefinedMemory : public testing::TestWithParam<MemoryCase> {};

TEST_P(UndefinedMemory, GoesAlong) {
  const MemoryCase &c = GetParam();
  Kernel k = memoryKernel(c.body);
  ASSERT_TRUE(k.run()) << k.error;
  if (c.expected.empty()) {
    EXPECT_EQ(k.told(), "");
  } else {
    ASSERT_FALSE(k.findings.empty());
    EXPECT_EQ(k.findings[0].kind, FindingKind::Uninitialised);
    for (const std::string &part : c.expected)
      EXPECT_NE(k.findings[0].str().find(part), std::string::npos)
          << part << "\n"
          << k.told();
    EXPECT_EQ(k.findings.size(), 1u) << k.told();
  }
  if (!c.strict)
    return;
  k.strict = true;
  ASSERT_TRUE(k.run()) << k.error;
  ASSERT_FALSE(k.findings.empty());
  EXPECT_EQ(k.findings[0].message, c.strict) << k.told();
}

INSTANTIATE_TEST_SUITE_P(Kernels, UndefinedMemory,
                         testing::ValuesIn(memoryCases),
                         [](auto &info) { return testName(info.param.name); });

// D of wgmma, of tiles in shared memory: A, of 64 rows of 16 numbers, lacks row
// 20 and B, of 8 columns, lacks column 3; laid out by rows and columns, of all
// their bytes, and the other way, of one number each. D is stored but for
// those, or with one of them.
TEST(Undefined, RowsAndColumnsOfWgmma) {
  const char *const drop =
                        "setp.ne.u32 %p2, %r10, 20; setp.ne.u32 %p3, %r4, 1;",
                    *const rows =
                        "setp.ne.u32 %p2, %r10, 64; setp.ne.u32 %p3, %r4, 1;",
                    *const columns =
                        "setp.ne.u32 %p2, %r10, 20; setp.ne.u32 %p3, %r4, 4;";
  struct {
    bool across;
    const char *keeps; // %p2: rows, %p3: columns
    const char *expected;
    size_t stores = 1; // that are found
  } all[] = {
      {false, drop, ""},
      {false, rows, "s + 576", 2},
      {false, columns, "s + 2096"},
      {true, drop, ""},
      {true, rows, "s + 584", 2},
      {true, columns, "s + 2102"},
  };
  // Each chunk is of one k now, and all that was left out is there but number 4
  // of thread 20's first one, and 3 of thread 3's of B.
  const char *const alsoAcross =
      "setp.eq.u32 %p0, %r6, 20;"
      "@%p0 st.shared.v2.b32 [%r7], {%d0, %d0};"
      "@%p0 st.shared.b16 [%r7+10], %d0; @%p0 st.shared.b32 [%r7+12], %d0;"
      "@%p0 st.shared.v4.b32 [%r7+128], {%d0, %d0, %d0, %d0};"
      "setp.eq.u32 %p0, %r6, 3;"
      "@%p0 st.shared.b32 [%r7+2048], %d0; @%p0 st.shared.b16 [%r7+2052], %d0;"
      "@%p0 st.shared.v2.b32 [%r7+2056], {%d0, %d0};"
      "@%p0 st.shared.v4.b32 [%r7+2176], {%d0, %d0, %d0, %d0};";
  for (auto &c : all) {
    SCOPED_TRACE(std::string(c.across ? "across: " : "") + c.keeps);
    Kernel k = memoryKernel(
        // Chunks of 8 rows of 16 bytes, 128 bytes each; the next 8 rows are 256
        // behind, the next 8 of K 128. Thread t writes row t of both chunks.
        "mov.u32 %r6, %tid.x; shr.u32 %r7, %r6, 3; shl.b32 %r7, %r7, 8;"
        "and.b32 %r8, %r6, 7; shl.b32 %r8, %r8, 4; add.u32 %r7, %r7, %r8;"
        "add.u32 %r7, %r7, %r1; mov.b32 %d0, 0; setp.lt.u32 %p0, %r6, 64;"
        "setp.ne.and.u32 %p0, %r6, 20, %p0;"
        "@%p0 st.shared.v4.b32 [%r7], {%d0, %d0, %d0, %d0};"
        "@%p0 st.shared.v4.b32 [%r7+128], {%d0, %d0, %d0, %d0};"
        "setp.lt.u32 %p0, %r6, 8; setp.ne.and.u32 %p0, %r6, 3, %p0;"
        "@%p0 st.shared.v4.b32 [%r7+2048], {%d0, %d0, %d0, %d0};"
        "@%p0 st.shared.v4.b32 [%r7+2176], {%d0, %d0, %d0, %d0};" +
            std::string(c.across ? alsoAcross : "") +
            "fence.proxy.async; bar.sync 0; mov.b32 %f1, 0; mov.b32 %f2, 0;"
            "mov.b32 %f3, 0; mov.b32 %f4, 0; setp.ne.u32 %p1, %r0, %r0;"
            // lead 128, stride 256 bytes, both by 16
            "shr.u32 %r9, %r1, 4; cvt.u64.u32 %w0, %r9;"
            "or.b64 %w0, %w0, 0x0000001000080000; add.u64 %w1, %w0, 128;"
            "wgmma.fence.sync.aligned;"
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
            "{%f1, %f2, %f3, %f4}, %w0, %w1, %p1, 1, 1, " +
            (c.across ? "1, 1;" : "0, 0;") +
            "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
            "shr.u32 %r10, %r6, 5; shl.b32 %r10, %r10, 4; add.u32 %r10, %r10, "
            "%r3;" +
            std::string(c.keeps) +
            "mul.wide.u32 %rd2, %r6, 4; add.u64 %rd2, %rd2, %rd0;"
            "@%p2 st.global.f32 [%rd2], %f1; and.pred %p2, %p2, %p3;"
            "@%p2 st.global.f32 [%rd2+512], %f2; st.global.f32 [%rd2+1024], "
            "%f3;",
        384);
    k.shared.replace(k.shared.find("1024"), 4, "4096");
    k.block = 128;
    ASSERT_TRUE(k.run()) << k.error;
    if (!*c.expected) {
      EXPECT_EQ(k.told(), "");
      continue;
    }
    EXPECT_EQ(k.findings.size(), c.stores) << k.told();
    for (const Finding &f : k.findings)
      EXPECT_NE(f.message.find(c.expected), std::string::npos) << f.str();
  }
}

// Memory of the host needs no copy: it gets what is there when a launch ends.
TEST(Undefined, MemoryThatTheHostSees) {
  alignas(16) uint32_t words[4] = {};
  Simulator sim(*targetNamed("sm_80"), {});
  sim.registerHost(words, sizeof words, "'words'");
  auto module = sim.load(".version 7.0\n.target sm_80\n.address_size 64\n"
                         ".visible .entry k(.param .u64 p) { .reg .b64 a;"
                         ".reg .b32 u; ld.param.u64 a, [p];"
                         "st.global.u32 [a+8], u; ret; }\n",
                         "k.ptx");
  ASSERT_TRUE(module) << module.error().str();
  LaunchRequest request;
  request.parameters.resize(8);
  uint32_t *at = words;
  std::memcpy(request.parameters.data(), &at, 8);
  auto report = sim.launch(**module, "k", request);
  ASSERT_TRUE(report) << report.error().str();
  ASSERT_EQ(report->findings.size(), 1u);
  EXPECT_EQ(report->findings[0].message, "stores u, which was never written; "
                                         "the host gets 4 bytes of that");
  EXPECT_EQ(report->findings[0].where, "'words' + 8 (of 16 bytes)");
}

} // namespace
