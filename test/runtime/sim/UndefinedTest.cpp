// SPDX-License-Identifier: Apache-2.0
//
// Registers that were never written, whole or in part: what hands undefined
// bits on does so bit by bit, and who uses one is told. Compilers (LLVM's
// packing of bytes) leave out what is masked away later.
#include "test/runtime/TestName.h"
#include "test/runtime/sim/RunSnippet.h"
#include <gtest/gtest.h>

using namespace act::runtime::sim;

namespace {

struct Case {
  const char *name;
  const char *body;     // %u (32 bits), %h (16), %w (64) are never written
  const char *expected; // of the first finding; "" for none
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
     "uses u, which was never written"},
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

TEST_P(Undefined, IsWhatIsUsed) {
  const Case &c = GetParam();
  Snippet s(".reg .b32 t, s, u, v; .reg .b16 g, h, h2; .reg .b64 x;"
            ".reg .pred p, one; .shared .b8 room[32]; mov.b16 g, 7;"
            "mov.u32 s, %laneid; setp.eq.u32 one, s, 0;" +
            std::string(c.body));
  s.target = "sm_80";
  s.version = "7.0";
  s.findingsAllowed = true;
  s.in<uint32_t>("a", [](int lane) { return 0x03020100u + unsigned(lane); });
  s.inPredicate("yes",
                std::string(c.name) == "in some lanes only" ? 0xff : ~0u);
  s.out<uint32_t>("d");
  ASSERT_TRUE(s.run()) << s.error;
  std::string all;
  for (const Finding &f : s.findings)
    all += f.str() + "\n";
  if (!*c.expected) {
    EXPECT_EQ(all, "");
    return;
  }
  ASSERT_FALSE(s.findings.empty());
  for (const Finding &f : s.findings)
    EXPECT_EQ(f.kind, FindingKind::Uninitialised);
  EXPECT_NE(s.findings[0].message.find(c.expected), std::string::npos) << all;
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

} // namespace
