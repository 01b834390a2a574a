// SPDX-License-Identifier: Apache-2.0
//
// Each layout as the PTX ISA gives it: section by section, the row and column
// of element i of a lane, copied down from the text or read off the figure; the
// code under test goes the other way and knows one rule for all.
#include "runtime/sim/layout/Fragments.h"
#include "runtime/sim/instructions/MatrixRegisters.h"
#include <functional>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

using namespace act::runtime::sim;

namespace {

using Index = std::function<unsigned(unsigned lane, unsigned i)>;

unsigned group(unsigned lane) { return lane >> 2; }
unsigned member(unsigned lane) { return lane % 4; }

struct Section {
  const char *name;
  Role role;
  unsigned bits, rows, cols, elements; // of a lane
  Index row, col;
};

#define AT [](unsigned l, unsigned i)->unsigned
const Index cRow = AT { return i < 2 ? group(l) : group(l) + 8; };
const Index cCol = AT { return member(l) * 2 + (i & 1); };
const Index smallRow = AT { return i * 0 + group(l); };
const Index smallCol = AT { return member(l) * 2 + i; };

// The section numbers are those of PTX ISA 9.0, 9.7.14.5.x.
const Section sections[] = {
    {"2 m8n8k4 f64 A", Role::A, 64, 8, 4, 1, AT{return i * 0 + (l >> 2);
} // namespace
, AT { return i * 0 + l % 4; }
}
, {"2 m8n8k4 f64 B", Role::B, 64, 4, 8, 1, AT{return i * 0 + l % 4;
}
, AT { return i * 0 + (l >> 2); }
}
, {"2 m8n8k4 f64 C", Role::Accumulator, 64, 8, 8, 2, smallRow, smallCol},
    {"3 m8n8k16 A", Role::A, 8, 8, 16, 4, smallRow, AT{return member(l) * 4 + i;
}
}
, {"3 m8n8k16 B", Role::B, 8, 16, 8, 4, AT{return member(l) * 4 + i;
}
, smallRow
}
, {"3 m8n8k16 C", Role::Accumulator, 32, 8, 8, 2, smallRow, smallCol},
    {"4 m8n8k32 A", Role::A, 4, 8, 32, 8, smallRow, AT{return member(l) * 8 + i;
}
}
, {"4 m8n8k32 B", Role::B, 4, 32, 8, 8, AT{return member(l) * 8 + i;
}
, smallRow
}
, {"5 m8n8k128 A", Role::A, 1, 8, 128, 32, smallRow,
   AT{return member(l) * 32 + i;
}
}
, {"5 m8n8k128 B", Role::B, 1, 128, 8, 32, AT{return member(l) * 32 + i;
}
, smallRow
}
, {"6 m16n8k4 tf32 A", Role::A, 32, 16, 4, 2,
   AT{return i == 0 ? group(l) : group(l) + 8;
}
, AT { return i * 0 + member(l); }
}
, {"6 m16n8k4 f64 A", Role::A, 64, 16, 4, 2,
   AT{return i == 0 ? group(l) : group(l) + 8;
}
, AT { return i * 0 + member(l); }
}
, {"6 m16n8k4 tf32 B", Role::B, 32, 4, 8, 1, AT{return i * 0 + member(l);
}
, smallRow
}
, {"6 m16n8k4 f64 B", Role::B, 64, 4, 8, 1, AT{return i * 0 + member(l);
}
, smallRow
}
, {"6 m16n8k4 tf32 C", Role::Accumulator, 32, 16, 8, 4, cRow, cCol},
    {"6 m16n8k4 f64 C", Role::Accumulator, 64, 16, 8, 4, cRow, cCol},
    {"7 m16n8k8 f16 A", Role::A, 16, 16, 8, 4, cRow,
     AT{return member(l) * 2 + (i & 1);
}
}
, {"7 m16n8k8 tf32 A", Role::A, 32, 16, 8, 4,
   AT{return i == 0 || i == 2 ? group(l) : group(l) + 8;
}
, AT { return i == 0 || i == 1 ? member(l) : member(l) + 4; }
}
, {"7 m16n8k8 f64 A", Role::A, 64, 16, 8, 4,
   AT{return i == 0 || i == 2 ? group(l) : group(l) + 8;
}
, AT { return i == 0 || i == 1 ? member(l) : member(l) + 4; }
}
, {"7 m16n8k8 f16 B", Role::B, 16, 8, 8, 2, AT{return member(l) * 2 + i;
}
, smallRow
}
, {"7 m16n8k8 tf32 B", Role::B, 32, 8, 8, 2,
   AT{return i == 0 ? member(l) : member(l) + 4;
}
, smallRow
}
, {"7 m16n8k8 f64 B", Role::B, 64, 8, 8, 2,
   AT{return i == 0 ? member(l) : member(l) + 4;
}
, smallRow
}
, {"7 m16n8k8 f16 C", Role::Accumulator, 16, 16, 8, 4, cRow, cCol},
    {"7 m16n8k8 f32 C", Role::Accumulator, 32, 16, 8, 4, cRow, cCol},
    {"8 m16n8k16 f16 A", Role::A, 16, 16, 16, 8,
     AT{return i < 2 || (4 <= i && i < 6) ? group(l) : group(l) + 8;
}
, AT { return i < 4 ? member(l) * 2 + (i & 1) : member(l) * 2 + (i & 1) + 8; }
}
, {"8 m16n8k16 f64 A", Role::A, 64, 16, 16, 8,
   AT{return i % 2 == 0 ? group(l) : group(l) + 8;
}
, AT { return i % 2 == 0 ? i * 2 + member(l) : i * 2 - 2 + member(l); }
}
, {"8 m16n8k16 f16 B", Role::B, 16, 16, 8, 4,
   AT{return i < 2 ? member(l) * 2 + (i & 1) : member(l) * 2 + (i & 1) + 8;
}
, smallRow
}
, {"8 m16n8k16 f64 B", Role::B, 64, 16, 8, 4, AT{return member(l) + i * 4;
}
, smallRow
}
, {"9 m16n8k16 i8 A", Role::A, 8, 16, 16, 8,
   AT{return i < 4 ? group(l) : group(l) + 8;
}
, AT { return member(l) * 4 + (i & 3); }
}
, {"9 m16n8k16 i8 B", Role::B, 8, 16, 8, 4, AT{return member(l) * 4 + i;
}
, smallRow
}
, {"10 m16n8k32 i4 A", Role::A, 4, 16, 32, 16,
   AT{return i < 8 ? group(l) : group(l) + 8;
}
, AT { return member(l) * 8 + (i & 7); }
}
, {"10 m16n8k32 i4 B", Role::B, 4, 32, 8, 8, AT{return member(l) * 8 + (i & 7);
}
, smallRow
}
, {"10 m16n8k32 i8 A", Role::A, 8, 16, 32, 16,
   AT{return i < 4 || (8 <= i && i < 12) ? group(l) : group(l) + 8;
}
, AT { return i < 8 ? member(l) * 4 + (i & 3) : member(l) * 4 + (i & 3) + 16; }
}
, {"10 m16n8k32 i8 B", Role::B, 8, 32, 8, 8,
   AT{return i < 4 ? member(l) * 4 + (i & 3) : member(l) * 4 + (i & 3) + 16;
}
, smallRow
}
, {"11 m16n8k64 A", Role::A, 4, 16, 64, 32,
   AT{return i < 8 || (16 <= i && i < 24) ? group(l) : group(l) + 8;
}
, AT { return i < 16 ? member(l) * 8 + (i & 7) : member(l) * 8 + (i & 7) + 32; }
}
, {"11 m16n8k64 B", Role::B, 4, 64, 8, 16,
   AT{return i < 8 ? member(l) * 8 + (i & 7) : member(l) * 8 + (i & 7) + 32;
}
, smallRow
}
, {"12 m16n8k128 A", Role::A, 1, 16, 128, 64,
   AT{return i < 32 ? group(l) : group(l) + 8;
}
, AT { return member(l) * 32 + (i & 31); }
}
, {"12 m16n8k128 B", Role::B, 1, 128, 8, 32, AT{return member(l) * 32 + i;
}
, smallRow
}
,
    // The text has "+ i" for i < 64; the figure has i modulo 32.
    {"13 m16n8k256 A", Role::A, 1, 16, 256, 128,
     AT{return i < 32 || (64 <= i && i < 96) ? group(l) : group(l) + 8;
}
, AT {
  return i < 64 ? member(l) * 32 + (i & 31) : member(l) * 32 + (i & 31) + 128;
}
}
, {"13 m16n8k256 B", Role::B, 1, 256, 8, 64,
   AT{return i < 32 ? member(l) * 32 + (i & 31)
                    : member(l) * 32 + (i & 31) + 128;
}
, smallRow
}
,
    // wgmma, 9.7.15.5.1.1, figures 149 to 155, of warp 0: 24 columns of D.
    {"wgmma D f32", Role::Accumulator, 32, 16, 24, 12,
     AT{return group(l) + (i / 2 % 2 ? 8 : 0);
}
, AT { return i / 4 * 8 + member(l) * 2 + i % 2; }
}
, {"wgmma D f16", Role::Accumulator, 16, 16, 24, 12,
   AT{return group(l) + (i / 2 % 2 ? 8 : 0);
}
, AT { return i / 4 * 8 + member(l) * 2 + i % 2; }
}
,
}
;

TEST(Fragments, AreThoseOfTheIsa) {
  for (const Section &s : sections) {
    SCOPED_TRACE(s.name);
    ASSERT_EQ(32 * s.elements, s.rows * s.cols);
    unsigned perRegister = s.bits >= 32 ? 1 : 32 / s.bits;
    EXPECT_EQ(registersInMma(s.role, s.bits, s.rows, s.cols),
              s.elements / perRegister);
    std::set<std::pair<unsigned, unsigned>> seen;
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned i = 0; i < s.elements; ++i) {
        unsigned row = s.row(lane, i), col = s.col(lane, i);
        ASSERT_LT(row, s.rows);
        ASSERT_LT(col, s.cols);
        EXPECT_TRUE(seen.insert({row, col}).second);
        Place p = placeInMma(s.role, s.bits, row, col);
        EXPECT_EQ(p.lane, lane) << row << ", " << col;
        EXPECT_EQ(p.reg, i / perRegister) << row << ", " << col;
        EXPECT_EQ(p.part, i % perRegister) << row << ", " << col;
      }
  }
}

// 9.7.14.5.1: four products at once.
TEST(Fragments, M8N8K4HasFour) {
  struct Old {
    const char *name;
    Role role;
    unsigned bits, elements;
    bool alongK;
    Index row, col;
  };
  const Index high = AT { return l % 4 + (l < 16 ? 0 : 4) + i * 0; };
  const Index iHigh = AT { return i % 4 + (l < 16 ? 0 : 4); };
  const Index low = AT { return l % 4 + i * 0; };
  const Index just = AT { return i + l * 0; };
  const Old olds[] = {{"A row", Role::A, 16, 4, true, high, just},
                      {"A col", Role::A, 16, 4, false, iHigh, low},
                      {"B row", Role::B, 16, 4, false, low, iHigh},
                      {"B col", Role::B, 16, 4, true, just, high},
                      {"C f16", Role::Accumulator, 16, 8, true, high, just},
                      {"C f32", Role::Accumulator, 32, 8, true,
                       AT{return (l & 1) + (i & 2) + (l < 16 ? 0 : 4);
}
, AT { return (i & 4) + (l & 2) + (i & 1); }
}
,
}
;
for (const Old &o : olds) {
  SCOPED_TRACE(o.name);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < o.elements; ++i) {
      unsigned per = o.bits == 16 ? 2 : 1;
      Place p = placeInMma884(o.role, o.bits, o.alongK, lane % 16 / 4,
                              o.row(lane, i), o.col(lane, i));
      EXPECT_EQ(p.lane, lane);
      EXPECT_EQ(p.reg, i / per);
      EXPECT_EQ(p.part, i % per);
    }
}
}

// Figure 79, as drawn: T lane : register, halves left to right.
TEST(Fragments, FigureOfM16N8K16) {
  const char *figure[16] = {"0:0 1:0 2:0 3:0 0:2 1:2 2:2 3:2",
                            "4:0 5:0 6:0 7:0 4:2 5:2 6:2 7:2",
                            "8:0 9:0 10:0 11:0 8:2 9:2 10:2 11:2",
                            "12:0 13:0 14:0 15:0 12:2 13:2 14:2 15:2",
                            "16:0 17:0 18:0 19:0 16:2 17:2 18:2 19:2",
                            "20:0 21:0 22:0 23:0 20:2 21:2 22:2 23:2",
                            "24:0 25:0 26:0 27:0 24:2 25:2 26:2 27:2",
                            "28:0 29:0 30:0 31:0 28:2 29:2 30:2 31:2",
                            "0:1 1:1 2:1 3:1 0:3 1:3 2:3 3:3",
                            "4:1 5:1 6:1 7:1 4:3 5:3 6:3 7:3",
                            "8:1 9:1 10:1 11:1 8:3 9:3 10:3 11:3",
                            "12:1 13:1 14:1 15:1 12:3 13:3 14:3 15:3",
                            "16:1 17:1 18:1 19:1 16:3 17:3 18:3 19:3",
                            "20:1 21:1 22:1 23:1 20:3 21:3 22:3 23:3",
                            "24:1 25:1 26:1 27:1 24:3 25:3 26:3 27:3",
                            "28:1 29:1 30:1 31:1 28:3 29:3 30:3 31:3"};
  for (unsigned row = 0; row < 16; ++row) {
    std::istringstream line(figure[row]);
    unsigned lane, reg;
    char colon;
    for (unsigned col = 0; col < 16; ++col) {
      if (col % 2 == 0)
        line >> lane >> colon >> reg;
      Place p = placeInMma(Role::A, 16, row, col);
      EXPECT_EQ(p, (Place{uint8_t(lane), uint8_t(reg), uint8_t(col % 2)}));
    }
  }
}

// Every register of a wmma fragment has an element, every element a register.
TEST(Fragments, WmmaIsABijection) {
  struct {
    Role role;
    unsigned bits, rows, cols;
  } shapes[] = {{Role::A, 16, 16, 16}, {Role::B, 16, 16, 32},
                {Role::A, 8, 32, 16},  {Role::B, 4, 32, 8},
                {Role::A, 32, 16, 8},  {Role::Accumulator, 32, 8, 32},
                {Role::A, 64, 8, 4},   {Role::Accumulator, 64, 8, 8}};
  for (auto &s : shapes) {
    unsigned per = s.bits >= 32 ? 1 : 32 / s.bits;
    std::set<unsigned> seen;
    for (unsigned row = 0; row < s.rows; ++row)
      for (unsigned col = 0; col < s.cols; ++col) {
        Place p = placeInWmma(s.role, s.bits, s.rows, s.cols, row, col);
        EXPECT_LT(p.lane, 32);
        EXPECT_LT(p.part, per);
        EXPECT_LT(p.reg, s.rows * s.cols / per / 32);
        EXPECT_TRUE(seen.insert((p.reg * 32u + p.lane) * 32 + p.part).second);
      }
  }
}

TEST(Fragments, ShapesAreRead) {
  Extent x = extentNamed("m64n256k16");
  EXPECT_EQ(x.m, 64u);
  EXPECT_EQ(x.n, 256u);
  EXPECT_EQ(x.k, 16u);
  for (const char *bad : {"m16n8", "m16n8k", "m16n8k16x", "row", "",
                          "m99999999999999n8k8", "m1n1k1k1", "n8m8k8"})
    EXPECT_EQ(extentNamed(bad).m, 0u) << bad;
}

} // namespace
