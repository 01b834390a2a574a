// SPDX-License-Identifier: Apache-2.0
//
// cp.async.bulk.tensor: every byte of boxes of one to five dimensions, against
// a walk over the elements and the ISA's tables of swizzles.
#include "test/runtime/sim/RunKernel.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace act::runtime;
using namespace act::runtime::sim;

namespace {

// Which 16-byte chunk of a 128-byte line stands in each place, line by line
// (PTX ISA, Swizzling Modes); the pattern repeats.
const std::vector<const char *> swizzles[] = {
    {"01234567"},
    {"01234567", "10325476"},
    {"01234567", "10325476", "23016745", "32107654"},
    {"01234567", "10325476", "23016745", "32107654", "45670123", "54761032",
     "67452301", "76543210"}};

// Where the byte `at` of a box that begins at a multiple of 1024 stands.
uint64_t placed(uint64_t at, unsigned swizzle) {
  const auto &lines = swizzles[swizzle];
  const char *line = lines[at / 128 % lines.size()];
  char chunk = char('0' + at / 16 % 8);
  for (unsigned place = 0; place < 8; ++place)
    if (line[place] == chunk)
      return at / 128 * 128 + place * 16 + at % 16;
  return ~uint64_t(0);
}

struct Walk {
  TiledTensor t;
  std::vector<int32_t> start;
  unsigned bytes() const { return bytesOf(t.type); }
  unsigned step(unsigned d) const {
    return d < t.rank && (d || t.interleave) ? t.elementStrides[d] : 1;
  }
  unsigned count(unsigned d) const {
    return d < t.rank ? (t.box[d] + step(d) - 1) / step(d) : 1;
  }
  uint64_t boxBytes() const {
    uint64_t n = bytes();
    for (unsigned d = 0; d < 5; ++d)
      n *= count(d);
    return n;
  }
  /// Calls see(byte of shared memory, byte of the array or -1) for each
  /// element.
  template <typename See> void each(See see) const {
    unsigned i[5] = {};
    uint64_t n = 0;
    for (i[4] = 0; i[4] < count(4); ++i[4])
      for (i[3] = 0; i[3] < count(3); ++i[3])
        for (i[2] = 0; i[2] < count(2); ++i[2])
          for (i[1] = 0; i[1] < count(1); ++i[1])
            for (i[0] = 0; i[0] < count(0); ++i[0], ++n) {
              int64_t at = 0;
              for (unsigned d = 0; d < t.rank && at >= 0; ++d) {
                int64_t x = start[d] + int64_t(i[d]) * step(d);
                if (x < 0 || x >= int64_t(t.sizes[d]))
                  at = -1;
                else
                  at += x * int64_t(d ? t.strides[d - 1] : bytes());
              }
              see(placed(n * bytes(), t.swizzle), at);
            }
  }
};

TiledTensor tensor(TensorMapType type, std::vector<uint64_t> sizes,
                   std::vector<uint32_t> box, unsigned swizzle = 0) {
  TiledTensor t;
  t.type = type;
  t.rank = uint32_t(sizes.size());
  uint64_t stride = bytesOf(type);
  for (unsigned d = 0; d < t.rank; ++d) {
    t.sizes[d] = sizes[d];
    t.box[d] = box[d];
    stride = (stride * sizes[d] + 31) / 32 * 32;
    if (d + 1 < t.rank)
      t.strides[d] = stride;
  }
  t.swizzle = swizzle;
  return t;
}
uint64_t arrayBytes(const TiledTensor &t) {
  return t.rank == 1 ? t.sizes[0] * bytesOf(t.type)
                     : t.strides[t.rank - 2] * t.sizes[t.rank - 1];
}
std::vector<uint8_t> noise(uint64_t n) {
  std::vector<uint8_t> v(n);
  std::mt19937 random(7);
  for (uint8_t &b : v)
    b = uint8_t(random());
  return v;
}

// p0: the array, p1: what was in shared memory, p2: the map
const char *const begin = R"(
  mov.u32 %r0, %tid.x;
  setp.eq.u32 %p0, %r0, 0;
  mov.u32 %r1, s;
  mov.u32 %r2, bar;
  ld.param.u64 %rd1, [p1];
  mov.b64 %rd2, p2;
  cvta.param.u64 %rd2, %rd2;
  @%p0 mbarrier.init.shared::cta.b64 [%r2], 1;
  @%p0 fence.mbarrier_init.release.cluster;
  bar.sync 0;
)";
const char *const wait = R"(
W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
  @!%p2 bra W;
)";
const char *const dump = R"(
  mov.u32 %r3, %r0;
L: setp.ge.u32 %p3, %r3, WORDS;
  @%p3 bra E;
  shl.b32 %r4, %r3, 2;
  cvt.u64.u32 %rd3, %r4;
  add.u64 %rd3, %rd1, %rd3;
  add.u32 %r4, %r1, %r4;
  ld.shared.u32 %r5, [%r4];
  st.global.u32 [%rd3], %r5;
  add.u32 %r3, %r3, 32;
  bra L;
E:
)";
const char *const fill = R"(
  mov.u32 %r3, %r0;
L: setp.ge.u32 %p3, %r3, WORDS;
  @%p3 bra E;
  shl.b32 %r4, %r3, 2;
  cvt.u64.u32 %rd3, %r4;
  add.u64 %rd3, %rd1, %rd3;
  add.u32 %r4, %r1, %r4;
  ld.global.u32 %r5, [%rd3];
  st.shared.u32 [%r4], %r5;
  add.u32 %r3, %r3, 32;
  bra L;
E:
)";

std::string coordinates(const std::vector<int32_t> &start) {
  std::string s;
  for (int32_t x : start)
    s += (s.empty() ? "" : ", ") + std::to_string(x);
  return "[%rd2, {" + s + "}]";
}
std::string expect(uint64_t bytes) {
  return "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], " +
         std::to_string(bytes) + ";\n";
}
std::string load(const Walk &w, const std::string &words = "",
                 const std::string &space = "cluster") {
  return "@%p0 cp.async.bulk.tensor." + std::to_string(w.t.rank) +
         "d.shared::" + space + ".global" + words +
         ".mbarrier::complete_tx::bytes [%r1], " + coordinates(w.start) +
         ", [%r2];\n";
}
std::string words(std::string text, const Walk &w) {
  text.replace(text.find("WORDS"), 5, std::to_string(w.boxBytes() / 4));
  return text;
}

Kernel kernel(const Walk &w, const std::string &body) {
  Kernel k;
  k.shared = ".shared .align 1024 .b8 s[8192]; .shared .align 8 .b64 bar;";
  k.body = begin + body;
  k.array(noise(arrayBytes(w.t)));
  return k;
}

void expectLoad(const Walk &w, const std::string &what, uint64_t seeds = 2,
                const std::string &mode = "",
                const std::string &space = "cluster") {
  Kernel k = kernel(w, expect(w.boxBytes()) + load(w, mode, space) + wait +
                           words(dump, w));
  k.output<uint8_t>(w.boxBytes()).map(w.t, 0);
  ASSERT_TRUE(k.runClean(seeds)) << what << k.error;
  std::vector<uint8_t> array = noise(arrayBytes(w.t)), got = k.get<uint8_t>(1);
  uint64_t wrong = 0;
  w.each([&](uint64_t shared, int64_t at) {
    for (unsigned b = 0; b < w.bytes(); ++b)
      wrong += got[shared + b] !=
               (at < 0 ? (w.t.fill ? 0xff : 0) : array[uint64_t(at) + b]);
  });
  EXPECT_EQ(wrong, 0u) << what;
}

constexpr TensorMapType U8 = TensorMapType::U8, U16 = TensorMapType::U16,
                        F32 = TensorMapType::F32, F64 = TensorMapType::F64,
                        BF16 = TensorMapType::BF16, S32 = TensorMapType::S32,
                        F16 = TensorMapType::F16;

TEST(TensorCopy, LoadsOneDimension) {
  for (int32_t x : {0, 5, 80, 96, -20, -40, 200, INT32_MAX, INT32_MIN})
    expectLoad({tensor(F32, {100}, {32}), {x}}, std::to_string(x));
  expectLoad({tensor(U8, {100}, {48}), {70}}, "bytes");
  expectLoad({tensor(F64, {40}, {16}), {30}}, "f64");
  expectLoad({tensor(BF16, {512}, {256}), {17}}, "the largest box");
}

TEST(TensorCopy, LoadsTwoDimensionsInEverySwizzle) {
  for (unsigned swizzle : {0u, 1u, 2u, 3u})
    for (TensorMapType type : {U8, U16, F32, F64})
      for (auto &start : std::vector<std::vector<int32_t>>{
               {0, 0}, {3, 2}, {-5, -3}, {90, 15}, {100, 0}, {0, -16}}) {
        uint32_t inner = (16u << swizzle) / bytesOf(type);
        expectLoad({tensor(type, {100, 21}, {inner, 16}, swizzle), start},
                   "swizzle " + std::to_string(swizzle) + ", " +
                       std::to_string(bytesOf(type)) + " bytes, at " +
                       coordinates(start),
                   1);
      }
}

TEST(TensorCopy, LoadsThreeToFiveDimensions) {
  for (unsigned swizzle : {0u, 1u, 2u, 3u}) {
    std::string what = "swizzle " + std::to_string(swizzle);
    uint32_t inner = (16u << swizzle) / 2;
    for (int32_t z : {0, 2, -1})
      expectLoad({tensor(F16, {70, 7, 5}, {inner, 4, 3}, swizzle), {8, 5, z}},
                 what);
    expectLoad(
        {tensor(F16, {70, 7, 5, 3}, {inner, 2, 3, 2}, swizzle), {60, -1, 3, 2}},
        what);
    expectLoad({tensor(F16, {70, 4, 5, 3, 4}, {inner, 2, 3, 2, 2}, swizzle),
                {-3, 3, -2, 1, 3}},
               what, 6);
  }
}

TEST(TensorCopy, FillsWithNan) {
  for (TensorMapType type : {F16, BF16, F32, F64}) {
    TiledTensor t = tensor(type, {20, 6}, {16, 4});
    t.fill = 1;
    expectLoad({t, {12, 4}}, "fill");
    expectLoad({t, {-4, -2}}, "fill");
  }
}

TEST(TensorCopy, TakesEveryNthElement) {
  TiledTensor t = tensor(U16, {64, 40, 9}, {32, 13, 4});
  t.elementStrides[0] = 2; // without an interleaved layout, no effect
  t.elementStrides[1] = 3;
  t.elementStrides[2] = 2;
  for (int32_t y : {0, 30, -4})
    expectLoad({t, {40, y, 5}}, "strides, " + std::to_string(y));
}

// Slices of 16 or 32 bytes of channels.
TEST(TensorCopy, LoadsInterleavedLayouts) {
  TiledTensor t = tensor(BF16, {8, 10, 10, 2}, {8, 5, 3, 2});
  t.interleave = 1;
  expectLoad({t, {0, 7, 8, 0}}, "NC/8HWC8");
  t.elementStrides[0] = 2;
  t.elementStrides[1] = 2;
  expectLoad({t, {0, 5, 8, 1}}, "every second channel");
  TiledTensor wide = tensor(BF16, {16, 10, 10, 2}, {16, 5, 4, 2}, 1);
  wide.interleave = 2;
  expectLoad({wide, {0, 7, 8, 0}}, "NC/16HWC16");
}

TEST(TensorCopy, TakesItsWordsInEveryForm) {
  Walk w{tensor(F32, {100, 21}, {32, 16}, 3), {3, 2}};
  expectLoad(w, "tile", 12, ".tile");
  expectLoad(w, "own", 12, "", "cta");
  Kernel k = kernel(w, expect(w.boxBytes()) +
                           "createpolicy.fractional.L2::evict_first.b64 %rd9;"
                           "cp.async.bulk.prefetch.tensor.2d.L2.global.tile " +
                           coordinates(w.start) +
                           ";prefetch.tensormap [%rd2];"
                           "@%p0 cp.async.bulk.tensor.2d.shared::cluster."
                           "global.mbarrier::complete_tx::bytes.L2::cache_hint "
                           "[%r1], " +
                           coordinates(w.start) + ", [%r2], %rd9;\n" + wait);
  k.output<uint8_t>(4).map(w.t, 0);
  EXPECT_TRUE(k.runClean(1)) << k.error;
}

// The engine flushes and rounds for the types that ask for it.
TEST(TensorCopy, ConvertsOnTheWayIn) {
  struct {
    TensorMapType type;
    uint32_t in, out;
  } cases[] = {
      {TensorMapType::F32Ftz, 0x80000001, 0x80000000},
      {TensorMapType::F32Ftz, 0x00800000, 0x00800000},
      {TensorMapType::F32, 0x00000001, 0x00000001},
      {TensorMapType::TF32, 0x3f801000, 0x3f802000},
      {TensorMapType::TF32, 0x3f800fff, 0x3f800000},
      {TensorMapType::TF32, 0x00001000, 0x00002000},
      {TensorMapType::TF32Ftz, 0x00001000, 0x00000000},
      {TensorMapType::TF32Ftz, 0xbf801fff, 0xbf802000},
      {TensorMapType::TF32, 0x7fc00001, 0x7fc00001},
      {TensorMapType::TF32, 0x7f800000, 0x7f800000},
  };
  for (auto &c : cases) {
    Walk w{tensor(c.type, {4}, {4}), {0}};
    Kernel k;
    k.shared = ".shared .align 1024 .b8 s[8192]; .shared .align 8 .b64 bar;";
    k.body = begin + expect(16) + load(w) + wait + words(dump, w);
    k.array(std::vector<uint32_t>(4, c.in)).output<uint32_t>(4).map(w.t, 0);
    ASSERT_TRUE(k.runClean(1)) << k.error;
    EXPECT_EQ(k.get<uint32_t>(1)[2], c.out) << std::hex << c.in;
  }
}

// ---- out

const char *const fence = "fence.proxy.async.shared::cta;\n";
const char *const sync = "bar.sync 0;\n";
const char *const done = "@%p0 cp.async.bulk.commit_group;\n"
                         "@%p0 cp.async.bulk.wait_group 0;\n";
std::string store(const Walk &w) {
  return "@%p0 cp.async.bulk.tensor." + std::to_string(w.t.rank) +
         "d.global.shared::cta.tile.bulk_group " + coordinates(w.start) +
         ", [%r1];\n";
}

void expectStore(const Walk &w, const std::string &what) {
  Kernel k = kernel(w, words(fill, w) + fence + sync + store(w) + done);
  std::vector<uint8_t> values = noise(2 * w.boxBytes());
  values.erase(values.begin(), values.begin() + long(w.boxBytes()));
  k.array(values).map(w.t, 0);
  ASSERT_TRUE(k.runClean(3)) << what << k.error;
  std::vector<uint8_t> expected = noise(arrayBytes(w.t));
  w.each([&](uint64_t shared, int64_t at) {
    for (unsigned b = 0; at >= 0 && b < w.bytes(); ++b)
      expected[uint64_t(at) + b] = values[shared + b];
  });
  EXPECT_EQ(k.get<uint8_t>(0), expected) << what;
}

TEST(TensorCopy, StoresWhatIsInside) {
  for (unsigned swizzle : {0u, 1u, 2u, 3u}) {
    std::string what = "swizzle " + std::to_string(swizzle);
    uint32_t inner = (16u << swizzle) / 4;
    for (int32_t x : {0, -2, 90})
      for (int32_t y : {0, -2, 15})
        expectStore({tensor(F32, {100, 21}, {inner, 16}, swizzle), {x, y}},
                    what);
    expectStore({tensor(F32, {40, 4, 5, 3, 4}, {inner, 2, 3, 2, 2}, swizzle),
                 {36, 3, -2, 1, 3}},
                what);
  }
  expectStore({tensor(F32, {100}, {32}), {90}}, "1d");
  expectStore({tensor(U8, {40, 4, 5}, {32, 3, 2}), {20, 2, 4}}, "3d");
  expectStore({tensor(U16, {40, 4, 5, 2}, {32, 3, 2, 2}, 2), {20, -1, 4, 1}},
              "4d");
  TiledTensor t = tensor(U16, {64, 40}, {32, 13});
  t.elementStrides[1] = 3;
  expectStore({t, {40, 20}}, "strides");
}

TEST(TensorCopy, Reduces) {
  Walk w{tensor(S32, {20, 6}, {8, 4}, 1), {14, 3}};
  struct {
    const char *op;
    int32_t (*of)(int32_t, int32_t);
  } ops[] = {
      {"add",
       [](int32_t a, int32_t b) { return int32_t(uint32_t(a) + uint32_t(b)); }},
      {"min", [](int32_t a, int32_t b) { return std::min(a, b); }},
      {"max", [](int32_t a, int32_t b) { return std::max(a, b); }},
      {"and", [](int32_t a, int32_t b) { return a & b; }},
      {"or", [](int32_t a, int32_t b) { return a | b; }},
      {"xor", [](int32_t a, int32_t b) { return a ^ b; }},
  };
  for (auto &op : ops) {
    Kernel k = kernel(w, words(fill, w) + fence + sync +
                             "@%p0 cp.reduce.async.bulk.tensor.2d.global."
                             "shared::cta." +
                             op.op + ".tile.bulk_group " +
                             coordinates(w.start) + ", [%r1];\n" + done);
    std::vector<uint8_t> values = noise(w.boxBytes() + 64);
    values.erase(values.begin(), values.begin() + 64);
    k.array(values).map(w.t, 0);
    ASSERT_TRUE(k.runClean(2)) << op.op << k.error;
    std::vector<uint8_t> expected = noise(arrayBytes(w.t));
    w.each([&](uint64_t shared, int64_t at) {
      if (at < 0)
        return;
      int32_t a, b;
      std::memcpy(&a, &expected[uint64_t(at)], 4);
      std::memcpy(&b, &values[shared], 4);
      a = op.of(a, b);
      std::memcpy(&expected[uint64_t(at)], &a, 4);
    });
    EXPECT_EQ(k.get<uint8_t>(0), expected) << op.op;
  }
  // Elements of one byte are not reduced.
  Walk bytes{tensor(U8, {64, 6}, {32, 4}), {0, 0}};
  Kernel k = kernel(bytes, words(fill, bytes) + fence + sync +
                               "@%p0 cp.reduce.async.bulk.tensor.2d.global."
                               "shared::cta.add.bulk_group " +
                               coordinates(bytes.start) + ", [%r1];\n" + done);
  k.array(noise(bytes.boxBytes())).map(bytes.t, 0);
  ASSERT_TRUE(k.run());
  EXPECT_TRUE(k.finds(FindingKind::InvalidOperation,
                      "does not support this reduction"));
}

// ---- races

const Walk plain{tensor(F32, {64, 16}, {32, 16}, 3), {0, 0}};

TEST(TensorCopy, LoadsAreWaitedFor) {
  Kernel k =
      kernel(plain, expect(2048) + load(plain) + sync + words(dump, plain));
  k.output<uint8_t>(2048).map(plain.t, 0);
  ASSERT_TRUE(k.run());
  EXPECT_TRUE(
      k.finds(FindingKind::Race, "reads memory that another thread writes"));
  // A second load into a buffer that others read needs them to be done.
  std::string second = expect(2048) + load(plain) + wait + words(dump, plain);
  std::string again = expect(2048) + load(plain) +
                      "V: mbarrier.try_wait.parity.shared::cta.b64 %p2, "
                      "[%r2], 1; @!%p2 bra V;\n";
  Kernel good = kernel(plain, second + sync + again);
  good.output<uint8_t>(2048).map(plain.t, 0);
  EXPECT_TRUE(good.runClean(8)) << good.error;
  Kernel bad = kernel(plain, second + again);
  bad.block = 64;
  bad.output<uint8_t>(2048).map(plain.t, 0);
  EXPECT_TRUE(bad.findsSometimes(FindingKind::Race,
                                 "writes memory that another thread reads"))
      << bad.told();
}

TEST(TensorCopy, StoresNeedTheProxyFence) {
  Kernel k = kernel(plain, words(fill, plain) + sync + store(plain) + done);
  k.array(noise(2048)).map(plain.t, 0);
  ASSERT_TRUE(k.run());
  EXPECT_TRUE(k.finds(FindingKind::Race, "without a proxy fence")) << k.told();
}

// What one CTA's threads wrote to global memory, a load sees behind a fence.
TEST(TensorCopy, GlobalMemoryNeedsTheProxyFenceToo) {
  std::string write = "ld.param.u64 %rd0, [p0]; @%p0 st.global.u32 [%rd0], 1;"
                      "@%p0 ";
  std::string rest = expect(2048) + load(plain) + wait;
  Kernel good = kernel(plain, write + "fence.proxy.async;\n" + rest);
  good.output<uint8_t>(4).map(plain.t, 0);
  EXPECT_TRUE(good.runClean(4)) << good.error;
  Kernel bad = kernel(plain, write + "mov.u32 %r9, 0;\n" + rest);
  bad.output<uint8_t>(4).map(plain.t, 0);
  ASSERT_TRUE(bad.run());
  EXPECT_TRUE(bad.finds(FindingKind::Race, "without a proxy fence"));
}

// ---- what cannot work

TEST(TensorCopy, ChecksWhatItIsGiven) {
  struct {
    std::string text;
    FindingKind kind;
    const char *why;
  } bad[] = {
      {"cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::"
       "bytes [%r1], [%rd2, {0, 0, 0}], [%r2];",
       FindingKind::InvalidOperation,
       "rank is 2, but the instruction has 3 dimensions"},
      {"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::"
       "bytes [%r1+64], [%rd2, {0, 0}], [%r2];",
       FindingKind::Misaligned, "not a multiple of 128"},
      {"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::"
       "bytes [%r1+7168], [%rd2, {0, 0}], [%r2];",
       FindingKind::OutOfBounds, "outside of shared memory"},
      {"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::"
       "bytes [%r1], [%rd0, {0, 0}], [%r2];",
       FindingKind::InvalidOperation, "cannot use its tensor map"},
      {"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::"
       "bytes [%r1], [%rd2+16, {0, 0}], [%r2];",
       FindingKind::Misaligned, "not a multiple of 64"},
      {"cp.async.bulk.tensor.2d.global.shared::cta.bulk_group "
       "[%rd2, {0, 0}], [%r1]; cp.async.bulk.commit_group;"
       "cp.async.bulk.wait_group 0;",
       FindingKind::Uninitialised, "never written"},
  };
  for (auto &b : bad) {
    Kernel k = kernel(plain, "ld.param.u64 %rd0, [p0]; @!%p0 bra N;\n" +
                                 b.text + "\nN:");
    k.output<uint8_t>(4).map(plain.t, 0);
    k.strict = true; // else what is not used may be undefined
    ASSERT_TRUE(k.run()) << k.error;
    EXPECT_TRUE(k.finds(b.kind, b.why)) << b.text << "\n" << k.told();
  }
  // A tensor that says to be larger than its array.
  Walk larger = plain;
  larger.t.sizes[1] = 100;
  larger.start = {0, 90};
  Kernel k;
  k.shared = ".shared .align 1024 .b8 s[8192]; .shared .align 8 .b64 bar;";
  k.body = begin + expect(2048) + load(larger) + wait;
  k.array(noise(4096)).output<uint8_t>(4).map(larger.t, 0);
  ASSERT_TRUE(k.run()) << k.error;
  EXPECT_TRUE(k.finds(FindingKind::OutOfBounds, "outside of any allocation"))
      << k.told();
  // Rows that are shorter than the swizzle.
  Walk narrow{tensor(F32, {64, 16}, {16, 16}, 3), {0, 0}};
  Kernel n = kernel(narrow, expect(1024) + load(narrow) + wait);
  n.output<uint8_t>(4).map(narrow.t, 0);
  ASSERT_TRUE(n.run());
  EXPECT_TRUE(n.finds(FindingKind::InvalidOperation, "rows of 64 bytes"));
}

TEST(TensorCopy, RefusesWhatIsNotThere) {
  const std::string in = "cp.async.bulk.tensor.2d.shared::cluster.global",
                    end = " [%r1], [%rd2, {%r3, %r4}], [%r2];",
                    tx = ".mbarrier::complete_tx::bytes",
                    out = "cp.async.bulk.tensor.2d.global.shared::cta",
                    outEnd = " [%rd2, {%r3, %r4}], [%r1];";
  struct {
    std::string text, version, why;
  } bad[] = {
      {in + tx + end, "7.8", "PTX 8.0"},
      {"cp.async.bulk.tensor.2d.shared::cta.global" + tx + end, "8.5",
       "PTX 8.6"},
      {"cp.async.bulk.tensor.6d.shared::cluster.global" + tx + end, "8.8",
       "needs one of .1d"},
      {in + ".im2col" + tx + " [%r1], [%rd2, {%r3, %r4}], [%r2], {%h0};", "8.8",
       ".im2col is not simulated"},
      {in + ".tile::gather4" + tx + end, "8.8", "needs sm_100a"},
      {in + tx + ".cta_group::2" + end, "8.8", "needs sm_100a"},
      {in + end, "8.8", "needs one of .mbarrier::complete_tx::bytes"},
      {in + tx + " [%r1], [%rd2, {%r3}], [%r2];", "8.8",
       "expects 2 coordinates, found 1"},
      {in + tx + " [%r1], [%rd2], [%r2];", "8.8",
       "expects a tensor map and coordinates"},
      {in + tx + ".multicast::cluster" + end, "8.8", "expects more than 3"},
      {out + ".bulk_group.multicast::cluster" + outEnd, "8.8",
       "unknown modifier"},
      {"cp.reduce.async.bulk.tensor.2d.global.shared::cta.bulk_group" + outEnd,
       "8.8", "needs one of .and"},
      {"cp.async.bulk.tensor.2d.global.shared::cluster.bulk_group" + outEnd,
       "8.8", "cannot copy between these state spaces"},
  };
  for (auto &b : bad)
    expectRefused(b.text, b.version, b.why);
}

} // namespace
