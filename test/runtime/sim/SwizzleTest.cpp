// SPDX-License-Identifier: Apache-2.0
//
// Swizzles and shared-memory descriptors against the layouts that the PTX ISA
// draws (9.7.15.5.1.2): pictures of chunk numbers, and its worked examples.
#include "runtime/sim/layout/SharedDescriptor.h"
#include <gtest/gtest.h>
#include <set>

using namespace act::runtime::sim;

namespace {

// Where the chunks of each 128-byte line go. 128 B: figure 157, a row per line.
TEST(Swizzle, Of128Bytes) {
  const unsigned chunk[8][8] = {
      {0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6},
      {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4},
      {4, 5, 6, 7, 0, 1, 2, 3}, {5, 4, 7, 6, 1, 0, 3, 2},
      {6, 7, 4, 5, 2, 3, 0, 1}, {7, 6, 5, 4, 3, 2, 1, 0}};
  for (unsigned line = 0; line < 24; ++line)
    for (unsigned c = 0; c < 8; ++c)
      for (unsigned byte : {0u, 7u, 15u})
        EXPECT_EQ(swizzled(line * 128 + c * 16 + byte, Swizzle::B128),
                  line * 128 + chunk[line % 8][c] * 16 + byte);
}

TEST(Swizzle, Of64Bytes) {
  // Two rows of 64 bytes to a line.
  const unsigned chunk[4][8] = {{0, 1, 2, 3, 4, 5, 6, 7},
                                {1, 0, 3, 2, 5, 4, 7, 6},
                                {2, 3, 0, 1, 6, 7, 4, 5},
                                {3, 2, 1, 0, 7, 6, 5, 4}};
  for (unsigned line = 0; line < 12; ++line)
    for (unsigned c = 0; c < 8; ++c)
      EXPECT_EQ(swizzled(line * 128 + c * 16, Swizzle::B64),
                line * 128 + chunk[line % 4][c] * 16);
}

TEST(Swizzle, Of32Bytes) {
  const unsigned chunk[2][8] = {{0, 1, 2, 3, 4, 5, 6, 7},
                                {1, 0, 3, 2, 5, 4, 7, 6}};
  for (unsigned line = 0; line < 6; ++line)
    for (unsigned c = 0; c < 8; ++c)
      EXPECT_EQ(swizzled(line * 128 + c * 16, Swizzle::B32),
                line * 128 + chunk[line % 2][c] * 16);
}

TEST(Swizzle, NoneMovesNothing) {
  for (unsigned a = 0; a < 4096; a += 16)
    EXPECT_EQ(swizzled(a, Swizzle::None), a);
}

TEST(Swizzle, StartsWhereThePatternStarts) {
  // A pattern that starts at line 3: base offset 3.
  for (unsigned line = 0; line < 8; ++line)
    for (unsigned c = 0; c < 8; ++c)
      EXPECT_EQ(swizzled((line + 3) * 128 + c * 16, Swizzle::B128, 3),
                (line + 3) * 128 + (c ^ line) * 16);
}

TEST(SharedDescriptor, FieldsAreWhereTheIsaHasThem) {
  SharedDescriptor d = SharedDescriptor::unpack(
      uint64_t(0x1234) | uint64_t(16) << 16 | uint64_t(8) << 32 |
      uint64_t(5) << 49 | uint64_t(1) << 62);
  EXPECT_EQ(d.address, 0x12340u);
  EXPECT_EQ(d.leading, 256u);
  EXPECT_EQ(d.stride, 128u);
  EXPECT_EQ(d.baseOffset, 5);
  EXPECT_EQ(d.swizzle, Swizzle::B128);
  const Swizzle modes[] = {Swizzle::None, Swizzle::B128, Swizzle::B64,
                           Swizzle::B32};
  for (uint64_t m = 0; m < 4; ++m) {
    EXPECT_EQ(SharedDescriptor::unpack(m << 62).swizzle, modes[m]);
    EXPECT_EQ(SharedDescriptor::unpack(m << 62).pack(), m << 62);
  }
}

/// The element (mn, k) of the layout that the ISA's example prints, in CuTe's
/// notation with two levels a side, before swizzling; offsets in elements.
struct Mode {
  unsigned size[3], stride[3];
  unsigned at(unsigned i) const {
    return i % size[0] * stride[0] + i / size[0] % size[1] * stride[1] +
           i / size[0] / size[1] % size[2] * stride[2];
  }
};
struct Example {
  const char *name;
  bool mnMajor;
  unsigned bytes; // of an element
  Swizzle swizzle;
  Mode mn, k;
  unsigned leading, stride; // bytes
};

TEST(SharedDescriptor, ExamplesOfTheIsa) {
  const Example examples[] = {
      {"K-major, none, tf32: ((8,2),(4,4)):((4,32),(1,64))",
       false,
       4,
       Swizzle::None,
       {{8, 2, 1}, {4, 32, 0}},
       {{4, 4, 1}, {1, 64, 0}},
       64 * 4,
       32 * 4},
      {"K-major, 32 B, tf32: ((8,2),(4,4)):((8,64),(1,4))",
       false,
       4,
       Swizzle::B32,
       {{8, 2, 1}, {8, 64, 0}},
       {{4, 2, 1}, {1, 4, 0}},
       16,
       64 * 4},
      {"MN-major, none, bf16: ((8,1,2),(8,2)):((1,8,64),(8,128))",
       true,
       2,
       Swizzle::None,
       {{8, 1, 2}, {1, 8, 64}},
       {{8, 2, 1}, {8, 128, 0}},
       128 * 2,
       64 * 2},
      {"MN-major, 32 B, bf16: ((8,2,2),(8,2)):((1,8,128),(16,256))",
       true,
       2,
       Swizzle::B32,
       {{8, 2, 2}, {1, 8, 128}},
       {{8, 2, 1}, {16, 256, 0}},
       128 * 2,
       256 * 2},
      {"MN-major, 64 B, bf16: ((8,4,2),(8,2)):((1,8,256),(32,512))",
       true,
       2,
       Swizzle::B64,
       {{8, 4, 2}, {1, 8, 256}},
       {{8, 2, 1}, {32, 512, 0}},
       256 * 2,
       512 * 2},
      // By the table of canonical layouts.
      {"MN-major, 128 B, bf16: ((8,8,2),(8,2)):((1,8,1024),(64,512))",
       true,
       2,
       Swizzle::B128,
       {{8, 8, 2}, {1, 8, 1024}},
       {{8, 2, 1}, {64, 512, 0}},
       1024 * 2,
       512 * 2},
      {"K-major, 128 B, bf16: ((8,2),(8,2)):((64,512),(1,8))",
       false,
       2,
       Swizzle::B128,
       {{8, 2, 1}, {64, 512, 0}},
       {{8, 2, 1}, {1, 8, 0}},
       16,
       512 * 2},
      {"K-major, 64 B, e4m3: ((8,2),(16,2)):((64,512),(1,16))",
       false,
       1,
       Swizzle::B64,
       {{8, 2, 1}, {64, 512, 0}},
       {{16, 2, 1}, {1, 16, 0}},
       16,
       512},
  };
  for (const Example &e : examples) {
    SCOPED_TRACE(e.name);
    SharedDescriptor d;
    d.address = 0x2000;
    d.leading = e.leading;
    d.stride = e.stride;
    d.swizzle = e.swizzle;
    d = SharedDescriptor::unpack(d.pack());
    unsigned T = 16 / e.bytes;
    auto total = [](const Mode &m) {
      return m.size[0] * m.size[1] * m.size[2];
    };
    for (unsigned mn = 0; mn < total(e.mn); ++mn)
      for (unsigned k = 0; k < total(e.k); ++k) {
        unsigned major = e.mnMajor ? mn : k, minor = e.mnMajor ? k : mn;
        uint32_t linear = 0x2000 + (e.mn.at(mn) + e.k.at(k)) * e.bytes;
        EXPECT_EQ(d.chunk(e.mnMajor, major / T, minor) + major % T * e.bytes,
                  swizzled(linear, e.swizzle))
            << mn << ", " << k;
      }
  }
}

// Kernels walk along K by adding to the address of a swizzled tile.
TEST(SharedDescriptor, MayStartInsideOfAPattern) {
  SharedDescriptor whole;
  whole.address = 1024;
  whole.stride = 1024;
  whole.swizzle = Swizzle::B128;
  for (unsigned step = 0; step < 4; ++step) {
    SharedDescriptor part = whole;
    part.address += 32 * step;
    for (unsigned row = 0; row < 64; ++row)
      for (unsigned c = 0; c < 2; ++c)
        EXPECT_EQ(part.chunk(false, c, row),
                  whole.chunk(false, 2 * step + c, row));
  }
}

// No two chunks of a tile fall together.
TEST(SharedDescriptor, ChunksAreDistinct) {
  for (Swizzle s : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128})
    for (bool mn : {false, true}) {
      SharedDescriptor d;
      d.swizzle = s;
      unsigned row = rowBytes(s);
      d.stride = s == Swizzle::None ? (mn ? 256 : 128) : row * 8;
      d.leading = s == Swizzle::None ? (mn ? 128 : 4096) : row * 16;
      std::set<uint32_t> seen;
      unsigned majors = mn ? 8 : 2, minors = mn ? 16 : 64;
      for (unsigned i = 0; i < majors; ++i)
        for (unsigned j = 0; j < minors; ++j)
          EXPECT_TRUE(seen.insert(d.chunk(mn, i, j)).second)
              << int(s) << mn << ' ' << i << ' ' << j;
    }
}

} // namespace
