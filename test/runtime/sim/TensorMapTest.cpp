// SPDX-License-Identifier: Apache-2.0
//
// Tensor maps that a kernel makes: tensormap.replace, cp_fenceproxy, and the
// fences between those who make one and those who use it.
#include "test/runtime/sim/RunKernel.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace act::runtime;
using namespace act::runtime::sim;

namespace {

// 8 rows of 16 floats of p0, which a map of another tensor is made to describe.
TiledTensor described() {
  TiledTensor t;
  t.type = TensorMapType::F32;
  t.rank = 2;
  t.sizes[0] = 40;
  t.sizes[1] = 12;
  t.strides[0] = 160;
  t.box[0] = 16;
  t.box[1] = 8;
  t.swizzle = 2;
  return t;
}
TiledTensor other() {
  TiledTensor t;
  t.type = TensorMapType::U8;
  t.rank = 3;
  t.sizes[0] = t.sizes[1] = t.sizes[2] = 200;
  t.strides[0] = 320;
  t.strides[1] = 64000;
  t.box[0] = 32;
  t.box[1] = 20;
  t.box[2] = 7;
  t.elementStrides[1] = 3;
  t.elementStrides[2] = 2;
  t.swizzle = 1;
  t.interleave = 1;
  return t;
}

// p0: the array, p1: where maps go (128 bytes), p2: a map, p3: results.
// Warp 0 makes the map in m.
const char *const begin = R"(
  mov.u32 %r0, %tid.x;
  setp.eq.u32 %p0, %r0, 0;
  setp.lt.u32 %p1, %r0, 32;
  mov.u32 %r1, s;
  mov.u32 %r2, bar;
  mov.u32 %r6, m;
  ld.param.u64 %rd0, [p0];
  ld.param.u64 %rd1, [p1];
  ld.param.u64 %rd3, [p3];
  mov.b64 %rd2, p2;
  cvta.param.u64 %rd2, %rd2;
  @%p0 mbarrier.init.shared::cta.b64 [%r2], 1;
  @%p0 fence.mbarrier_init.release.cluster;
  shl.b32 %r7, %r0, 2;
  add.u32 %r8, %r6, %r7;
  cvt.u64.u32 %rd4, %r7;
  add.u64 %rd5, %rd2, %rd4;
  @%p1 ld.param.u32 %r9, [%rd5];
  @%p1 st.shared.u32 [%r8], %r9;
  bar.sync 0;
)";
std::string replace(const std::string &field, const std::string &rest,
                    bool wide = false,
                    const std::string &space = ".shared::cta",
                    const std::string &place = "%r6") {
  return "@%p0 tensormap.replace.tile." + field + space + ".b1024" +
         (wide ? ".b64 [" : ".b32 [") + place + "], " + rest + ";\n";
}
std::string describe(const std::string &space = ".shared::cta",
                     const std::string &place = "%r6") {
  std::string s;
  auto add = [&](const std::string &field, const std::string &rest,
                 bool wide = false) {
    s += replace(field, rest, wide, space, place);
  };
  add("global_address", "%rd0", true);
  add("rank", "1");
  add("box_dim", "0, 16");
  add("box_dim", "1, 8");
  s += "mov.u32 %r10, 40; mov.u64 %rd6, 160;\n";
  add("global_dim", "0, %r10");
  add("global_dim", "1, 12");
  add("global_stride", "0, %rd6", true);
  add("element_stride", "0, 1");
  add("element_stride", "1, 1");
  add("elemtype", "7");
  add("interleave_layout", "0");
  add("swizzle_mode", "2");
  add("fill_mode", "0");
  return s;
}
const char *const publish =
    "bar.sync 0;\n"
    "@%p1 tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic."
    "release.gpu.sync.aligned [%rd1], [%r6], 128;\n";
const char *const acquire =
    "@%p1 fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;\n";
const char *const load =
    "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 512;\n"
    "@%p0 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
    "complete_tx::bytes [%r1], [%rd1, {8, 2}], [%r2];\n";
const char *const wait =
    "W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;\n"
    "@!%p2 bra W;\n";
// The first word of each 16-byte chunk.
const char *const out = R"(
  shl.b32 %r11, %r0, 4;
  add.u32 %r11, %r1, %r11;
  @%p1 ld.shared.u32 %r12, [%r11];
  add.u64 %rd7, %rd3, %rd4;
  @%p1 st.global.u32 [%rd7], %r12;
)";

Kernel kernel(const std::string &body) {
  Kernel k;
  k.shared = ".shared .align 1024 .b8 s[4096]; .shared .align 128 .b8 m[128];"
             ".shared .align 8 .b64 bar;";
  k.body = begin + body;
  std::vector<uint32_t> a(480);
  std::iota(a.begin(), a.end(), 0u);
  k.array(a).output<uint8_t>(128).map(other(), 0).output<uint32_t>(32);
  return k;
}

TEST(TensorMapReplace, MakesAMapOfAnother) {
  for (const std::string &body :
       {describe() + publish + acquire + load + wait + out,
        // Made in global memory, and released by a fence.
        publish + describe(".global", "%rd1") +
            "@%p0 fence.proxy.tensormap::generic.release.gpu;\n" + acquire +
            load + wait + out,
        publish + describe("", "%rd1") +
            "@%p0 fence.proxy.tensormap::generic.release.gpu;\n" + acquire +
            load + wait + out}) {
    Kernel k = kernel(body);
    ASSERT_TRUE(k.runClean(6)) << k.error;
    for (uint32_t place = 0; place < 32; ++place) {
      // Rows of 64 bytes, two to a line: chunk ^= line % 4.
      uint32_t chunk = place ^ (place / 8 % 4);
      EXPECT_EQ(k.get<uint32_t>(3)[place],
                40 * (2 + chunk / 4) + 8 + chunk % 4 * 4)
          << place;
    }
    TensorMap map;
    std::memcpy(map.bytes, k.get<uint8_t>(1).data(), 128);
    auto t = decodeTensorMap(map);
    ASSERT_TRUE(t) << t.error().str();
    EXPECT_EQ(t->rank, 2u);
    EXPECT_EQ(t->sizes[0], described().sizes[0]);
    EXPECT_EQ(t->strides[0], described().strides[0]);
    EXPECT_EQ(t->elementStrides[1], 1u);
  }
}

TEST(TensorMapReplace, UsersNeedTheFences) {
  Kernel acquired = kernel(describe() + publish + load + wait + out);
  ASSERT_TRUE(acquired.run());
  EXPECT_TRUE(
      acquired.finds(FindingKind::Race, "fence.proxy.tensormap::generic"))
      << acquired.told();
  Kernel released = kernel(publish + describe(".global", "%rd1") + acquire +
                           load + wait + out);
  ASSERT_TRUE(released.run());
  EXPECT_TRUE(
      released.finds(FindingKind::Race, "fence.proxy.tensormap::generic"))
      << released.told();
  // Acquired too early.
  Kernel early = kernel(acquire + (describe() + publish + load + wait + out));
  ASSERT_TRUE(early.run());
  EXPECT_TRUE(early.finds(FindingKind::Race, "fence.proxy.tensormap::generic"));
  // Another map.
  std::string elsewhere = acquire;
  elsewhere.replace(elsewhere.find("%rd1"), 4, "%rd3");
  Kernel wrong = kernel(describe() + publish + elsewhere + load + wait + out);
  ASSERT_TRUE(wrong.run());
  EXPECT_TRUE(wrong.finds(FindingKind::Race, "fence.proxy.tensormap::generic"));
}

// One warp makes and acquires, a thread of another warp uses it.
TEST(TensorMapReplace, AnAcquireCountsForWhoKnowsOfIt) {
  std::string user = load;
  for (size_t at; (at = user.find("@%p0")) != std::string::npos;)
    user.replace(at, 4, "@%p5");
  std::string is = "setp.eq.u32 %p5, %r0, 40;\n";
  Kernel good = kernel(describe() + publish + acquire + "bar.sync 0;\n" + is +
                       user + wait + out);
  good.block = 64;
  EXPECT_TRUE(good.runClean(6)) << good.error;
  Kernel bad = kernel(describe() + publish + acquire + is + user + wait + out);
  bad.block = 64;
  EXPECT_TRUE(bad.findsSometimes(FindingKind::Race, "tensor map"))
      << bad.told();
}

// A map in use is not changed.
TEST(TensorMapReplace, MapsStayWhileCopiesReadThem) {
  std::string change = replace("global_dim", "0, 8", false, ".global", "%rd1");
  Kernel good = kernel(describe() + publish + acquire + load + wait + change);
  EXPECT_TRUE(good.runClean(4)) << good.error;
  Kernel bad = kernel(describe() + publish + acquire + load + change + wait);
  ASSERT_TRUE(bad.run());
  EXPECT_TRUE(
      bad.finds(FindingKind::Race, "writes memory that another thread reads"))
      << bad.told();
}

TEST(TensorMapReplace, SaysWhyAMapCannotBeUsed) {
  struct {
    std::string change, why;
  } bad[] = {
      {replace("rank", "2"), "rank is 3, but the instruction has 2 dimensions"},
      {replace("rank", "6"), "rank is 7, expected 1 to 5"},
      {replace("box_dim", "0, 3"), "a row of the box has 12 bytes"},
      {replace("swizzle_mode", "1"), "a swizzle of 32 allows no more"},
      {replace("global_stride", "0, 100", true) +
           replace("interleave_layout", "2"),
       "interleave"},
      {replace("box_dim", "1, 100"), "moves a box of 6400 bytes"},
  };
  for (auto &b : bad) {
    Kernel k = kernel(describe() + b.change + publish + acquire + load);
    ASSERT_TRUE(k.run()) << k.error;
    EXPECT_TRUE(k.finds(FindingKind::InvalidOperation, b.why)) << b.why << "\n"
                                                               << k.told();
  }
  Kernel shared =
      kernel(describe() + "cvta.shared.u64 %rd9, m;" +
             "@%p0 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
             "complete_tx::bytes [%r1], [%rd9, {8, 2}], [%r2];\n");
  ASSERT_TRUE(shared.run()) << shared.error;
  EXPECT_TRUE(shared.finds(FindingKind::InvalidOperation, "in shared memory"));
}

TEST(TensorMapReplace, ChecksAddresses) {
  Kernel k = kernel(replace("rank", "1", false, ".shared::cta", "%r6+8"));
  ASSERT_TRUE(k.run());
  EXPECT_TRUE(k.finds(FindingKind::Misaligned, "64"));
  Kernel blank = kernel(replace("rank", "1", false, ".shared::cta", "%r1"));
  ASSERT_TRUE(blank.run());
  EXPECT_TRUE(blank.finds(FindingKind::Uninitialised, ""));
}

TEST(TensorMapReplace, RefusesWhatIsNotThere) {
  struct {
    std::string text, target, version, why;
  } bad[] = {
      {replace("rank", "1"), "sm_90", "8.8", "needs sm_90a"},
      {replace("rank", "1"), "sm_90a", "8.2", "PTX 8.3"},
      {replace("rank", "1", true), "sm_90a", "8.8", "does not take the type"},
      {replace("colour", "1"), "sm_90a", "8.8", "needs a field"},
      {replace("box_dim", "5, 1"), "sm_90a", "8.8", "is 5, expected 0 to 4"},
      {replace("global_stride", "4, %rd0", true), "sm_90a", "8.8",
       "is 4, expected 0 to 3"},
      {replace("elemtype", "13"), "sm_90a", "8.8", "is 13, expected 0 to 12"},
      {replace("elemtype", "%r0"), "sm_90a", "8.8", "integer constant"},
      {replace("swizzle_mode", "4"), "sm_90a", "8.8", "is 4, expected 0 to 3"},
      {replace("fill_mode", "2"), "sm_90a", "8.8", "is 2, expected 0 to 1"},
      {replace("swizzle_atomicity", "0"), "sm_90a", "8.8", "needs sm_100a"},
      {"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release."
       "gpu.sync.aligned [%rd1], [%r6], 64;",
       "sm_90a", "8.8", "128 bytes"},
      {"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release."
       "gpu [%rd1], [%r6], 128;",
       "sm_90a", "8.8", "needs one of .sync"},
      {"fence.proxy.tensormap::generic.acquire.gpu [%rd1], 64;", "sm_90a",
       "8.8", "128 bytes"},
      {"fence.proxy.tensormap::generic.release.gpu;", "sm_90a", "8.2",
       "PTX 8.3"},
      {"fence.proxy.tensormap::generic.gpu;", "sm_90a", "8.8",
       "needs one of .acquire, .release"},
  };
  for (auto &b : bad)
    expectRefused(b.text, b.version, b.why, b.target);
}

} // namespace
