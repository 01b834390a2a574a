// SPDX-License-Identifier: Apache-2.0
#include "act/Layout/Blocked.h"
#include "test/lib/MmaOperands.h"
#include <gtest/gtest.h>
#include <map>

using namespace act;
using namespace act::layout;

namespace {

Distributed get(const Result<Distributed> &r) {
  EXPECT_TRUE(bool(r)) << r.error().str();
  return *r;
}

// Written down from the PTX ISA, sections "Matrix Fragments for mma.m16n8k4",
// "m16n8k8", "m16n8k16", "m16n8k32": row and column of element i of a lane's
// fragment.
struct Figure {
  int64_t bits, k, aCount, bCount;
  int64_t (*aRow)(int g, int t, int i), (*aCol)(int g, int t, int i);
  int64_t (*bRow)(int g, int t, int i), (*bCol)(int g, int t, int i);
};

const Figure figures[] = {
    {64, 4, 2, 1, [](int g, int, int i) -> int64_t { return g + 8 * i; },
     [](int, int t, int) -> int64_t { return t; },
     [](int, int t, int) -> int64_t { return t; },
     [](int g, int, int) -> int64_t { return g; }},
    {32, 8, 4, 2,
     [](int g, int, int i) -> int64_t { return i == 0 || i == 2 ? g : g + 8; },
     [](int, int t, int i) -> int64_t { return i == 0 || i == 1 ? t : t + 4; },
     [](int, int t, int i) -> int64_t { return i == 0 ? t : t + 4; },
     [](int g, int, int) -> int64_t { return g; }},
    {16, 16, 8, 4,
     [](int g, int, int i) -> int64_t {
       return (0 <= i && i < 2) || (4 <= i && i < 6) ? g : g + 8;
     },
     [](int, int t, int i) -> int64_t {
       return i < 4 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8;
     },
     [](int, int t, int i) -> int64_t {
       return i < 2 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8;
     },
     [](int g, int, int) -> int64_t { return g; }},
    {8, 32, 16, 8,
     [](int g, int, int i) -> int64_t {
       return (0 <= i && i < 4) || (8 <= i && i < 12) ? g : g + 8;
     },
     [](int, int t, int i) -> int64_t {
       return i < 8 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16;
     },
     [](int, int t, int i) -> int64_t {
       return i < 4 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16;
     },
     [](int g, int, int) -> int64_t { return g; }},
    {32, 4, 2, 1,
     [](int g, int, int i) -> int64_t { return i == 0 ? g : g + 8; },
     [](int, int t, int) -> int64_t { return t; },
     [](int, int t, int) -> int64_t { return t; },
     [](int g, int, int) -> int64_t { return g; }},
    {16, 8, 4, 2,
     [](int g, int, int i) -> int64_t { return i < 2 ? g : g + 8; },
     [](int, int t, int i) -> int64_t { return t * 2 + (i & 1); },
     [](int, int t, int i) -> int64_t { return t * 2 + i; },
     [](int g, int, int) -> int64_t { return g; }},
    {8, 16, 8, 4,
     [](int g, int, int i) -> int64_t { return i < 4 ? g : g + 8; },
     [](int, int t, int i) -> int64_t { return t * 4 + (i & 3); },
     [](int, int t, int i) -> int64_t { return t * 4 + (i & 3); },
     [](int g, int, int) -> int64_t { return g; }},
};

int64_t cRow(int g, int i) { return i < 2 ? g : g + 8; }
int64_t cCol(int t, int i) { return t * 2 + (i & 1); }

TEST(Mma, FragmentsAreThoseOfThePtxIsaRepeated) {
  for (const Figure &f : figures) {
    EXPECT_EQ(mmaDepth(f.bits, f.k), f.k);
    EXPECT_EQ(mmaDepth(f.bits, 5 * f.k), f.k);
    EXPECT_EQ(mmaDepth(f.bits, f.k + 1), 0);
    for (int warpsM : {1, 2, 4})
      for (int warpsN : {1, 2})
        for (int tilesM : {1, 2})
          for (int tilesN : {1, 3, 10})
            for (int tilesK : {1, 5}) {
              int64_t M = 16 * warpsM * tilesM, N = 8 * warpsN * tilesN,
                      K = f.k * tilesK;
              Distributed a = get(mmaOperandA({M, K}, warpsM, warpsN, f.bits));
              Distributed b = get(mmaOperandB({K, N}, warpsM, warpsN, f.bits));
              Distributed c = get(mmaAccumulator({M, N}, warpsM, warpsN));
              ASSERT_EQ(a.registerCount(), f.aCount * tilesK * tilesM);
              ASSERT_EQ(b.registerCount(), f.bCount * tilesK * tilesN);
              ASSERT_EQ(c.registerCount(), 4 * tilesN * tilesM);
              ASSERT_EQ(a.warpCount(), warpsM * warpsN);
              ASSERT_EQ(b.warpCount(), warpsM * warpsN);
              ASSERT_EQ(c.warpCount(), warpsM * warpsN);
              for (int warp = 0; warp < warpsM * warpsN; ++warp)
                for (int lane = 0; lane < 32; ++lane) {
                  int g = lane >> 2, t = lane & 3;
                  auto row0 = [&](int m) -> int64_t {
                    return 16 * (warp % warpsM + warpsM * m);
                  };
                  auto col0 = [&](int n) -> int64_t {
                    return 8 * (warp / warpsM + warpsN * n);
                  };
                  for (int m = 0; m < tilesM; ++m)
                    for (int k = 0; k < tilesK; ++k)
                      for (int i = 0; i < f.aCount; ++i)
                        ASSERT_EQ(a.coordinates((m * tilesK + k) * f.aCount + i,
                                                lane, warp),
                                  (Coordinates{row0(m) + f.aRow(g, t, i),
                                               f.k * k + f.aCol(g, t, i)}));
                  for (int n = 0; n < tilesN; ++n)
                    for (int k = 0; k < tilesK; ++k)
                      for (int i = 0; i < f.bCount; ++i)
                        ASSERT_EQ(b.coordinates((n * tilesK + k) * f.bCount + i,
                                                lane, warp),
                                  (Coordinates{f.k * k + f.bRow(g, t, i),
                                               col0(n) + f.bCol(g, t, i)}));
                  for (int m = 0; m < tilesM; ++m)
                    for (int n = 0; n < tilesN; ++n)
                      for (int i = 0; i < 4; ++i)
                        ASSERT_EQ(
                            c.coordinates((m * tilesN + n) * 4 + i, lane, warp),
                            (Coordinates{row0(m) + cRow(g, i),
                                         col0(n) + cCol(t, i)}));
                }
              EXPECT_EQ(a.copies().warps, warpsN);
              EXPECT_EQ(b.copies().warps, warpsM);
              EXPECT_EQ(c.copies().total(), 1);
            }
  }
}

TEST(Mma, AnAccumulatorIsAnOperand) {
  for (int64_t n : {16, 64, 80, 112, 176})
    EXPECT_EQ(get(mmaAccumulator({128, n}, 4, 1)),
              get(mmaOperandA({128, n}, 4, 1, 16)));
  EXPECT_NE(get(mmaAccumulator({128, 64}, 4, 1)),
            get(mmaOperandA({128, 64}, 4, 1, 8)));
}

// Groups of warps beside each other have adjacent columns.
TEST(Mma, AGroupsColumnsAreTogether) {
  for (int64_t n : {16, 64, 80, 176}) {
    EXPECT_EQ(get(wgmmaAccumulator({128, n}, 8, 1)),
              get(mmaAccumulator({128, n}, 8, 1)));
    Distributed two = get(wgmmaAccumulator({64, 2 * n}, 4, 2)),
                one = get(wgmmaAccumulator({64, n}, 4, 1));
    ASSERT_EQ(two.registerCount(), one.registerCount());
    for (int64_t warp = 0; warp < 8; ++warp)
      for (int64_t lane = 0; lane < 32; ++lane)
        for (int64_t r = 0; r < one.registerCount(); ++r) {
          auto at = one.coordinates(r, lane, warp % 4);
          at[1] += warp / 4 * n;
          ASSERT_EQ(two.coordinates(r, lane, warp), at);
        }
  }
  EXPECT_EQ(wgmmaAccumulator({64, 24}, 4, 2).error().str(),
            "n is 24, expected a multiple of 16");
}

// Transposed, a block that is dealt by columns has its rows with the warps that
// have them in the product that reads it, but for copies.
TEST(Mma, ByColumnsItIsDealtAsItsTranspose) {
  for (auto [m, n] : {std::pair(1, 8), {2, 4}, {4, 2}, {2, 2}, {8, 1}})
    for (int64_t tiles : {1, 3}) {
      const int64_t rows = 32 * m, columns = 16 * n * tiles;
      Distributed block = get(mmaAccumulatorByColumns({rows, columns}, m, n));
      Distributed read = get(mmaOperandA({columns, rows}, n, m, 16));
      ASSERT_EQ(block.warpCount(), m * n);
      for (int64_t warp = 0; warp < m * n; ++warp)
        for (int64_t lane = 0; lane < 32; ++lane)
          for (int64_t r = 0; r < read.registerCount(); ++r) {
            Coordinates at = read.coordinates(r, lane, warp);
            ASSERT_EQ(block.holder({at[1], at[0]}).warp % n, warp % n);
          }
      // Its operands hold the rows and columns that it has.
      Distributed a = get(mmaOperandA({rows, 16}, block, 16)),
                  b = get(mmaOperandB({16, columns}, block, 16));
      for (int64_t warp = 0; warp < m * n; ++warp)
        for (int64_t i = 0; i < rows / (16 * m); ++i)
          for (int64_t j = 0; j < columns / (8 * n); ++j) {
            const Coordinates at =
                block.coordinates(4 * (i * columns / (8 * n) + j), 0, warp);
            EXPECT_EQ(a.coordinates(8 * i, 0, warp)[0], at[0]);
            EXPECT_EQ(b.coordinates(4 * j, 0, warp)[1], at[1]);
          }
    }
  EXPECT_EQ(mmaAccumulatorByColumns({64, 24}, 1, 1).error().str(),
            "n is 24, expected a multiple of 16");
}

TEST(Mma, RefusesWhatNoInstructionFits) {
  EXPECT_EQ(mmaAccumulator({100, 64}, 4, 1).error().str(),
            "m is 100, expected a multiple of 64");
  EXPECT_EQ(mmaAccumulator({64, 20}, 4, 1).error().str(),
            "n is 20, expected a multiple of 8");
  EXPECT_EQ(mmaOperandA({64, 20}, 4, 1, 16).error().str(),
            "k is 20, expected a multiple of 8");
  EXPECT_EQ(mmaOperandB({24, 64}, 4, 1, 4).error().str(),
            "an operand of mma has elements of 8, 16, 32 or 64 bits, found 4");
  EXPECT_EQ(mmaOperandB({16, 64, 1}, 4, 1, 16).error().str(),
            "a block of mma has 2 dimensions, found 3");
  EXPECT_EQ(mmaAccumulator({64, 64}, 0, 1).error().str(),
            "expected 1 to 32 warps along m and n, found 0 and 1");
}

TEST(Blocked, ReadsWholeRowsFirst) {
  EXPECT_EQ(get(blocked({128, 64}, 8, 4)).str(),
            "register = [8:(0,1), 8:(16,0)], lane = [8:(0,8), 4:(1,0)], "
            "warp = [4:(4,0)]");
  EXPECT_EQ(get(blocked({128, 80}, 8, 4)).str(),
            "register = [8:(0,1), 5:(0,16), 2:(64,0)], lane = [2:(0,8), "
            "16:(1,0)], warp = [4:(16,0)]");
  EXPECT_EQ(get(blocked({1, 4096}, 8, 4)).str(),
            "register = [8:(0,1), 4:(0,1024)], lane = [32:(0,8)], warp = "
            "[4:(0,256)]");
  EXPECT_EQ(get(blocked({16, 8}, 1, 4)).str(),
            "register = [], lane = [8:(0,1), 4:(1,0)], warp = [4:(4,0)]");
  EXPECT_EQ(get(blocked({16, 8}, 8, 4)).copies().total(), 8);
  EXPECT_EQ(get(blocked({64, 128}, 8, 4, {0, 1})).str(),
            "register = [8:(1,0), 8:(0,16)], lane = [8:(8,0), 4:(0,1)], "
            "warp = [4:(0,4)]");
  EXPECT_EQ(get(blocked({}, 1, 2)).copies().total(), 64);
  EXPECT_EQ(blocked({16, 12}, 8, 4).error().str(),
            "vectors of 8 elements do not divide the fastest dimension of 12");
  EXPECT_EQ(blocked({16, 16}, 8, 4, {0, 0}).error().str(),
            "the order of dimensions is not a permutation of 2");
}

TEST(Blocked, VectorsAreAsWideAsThereIsWork) {
  EXPECT_EQ(vectorFor({128, 64}, 2, 4), 8);
  EXPECT_EQ(vectorFor({128, 64}, 4, 4), 4);
  EXPECT_EQ(vectorFor({128, 64}, 1, 4), 16);
  EXPECT_EQ(vectorFor({128, 12}, 2, 4), 4);
  EXPECT_EQ(vectorFor({128}, 2, 4), 1);
  EXPECT_EQ(vectorFor({1024}, 4, 4), 4);
  EXPECT_EQ(vectorFor({16, 16}, 4, 4), 2);
  EXPECT_EQ(vectorFor({64, 128}, 2, 4, {0, 1}), 8);
}

// Every 16-byte access of a warp to rows that are far apart in global memory
// reads each sector of 32 bytes once.
TEST(Blocked, AWarpReadsWholeSectors) {
  for (int64_t columns = 16; columns <= 256; columns += 16) {
    Distributed d = get(blocked({128, columns}, 8, 4));
    EXPECT_EQ(d.copies().total(), 1);
    for (int64_t warp = 0; warp < 4; ++warp)
      for (int64_t reg = 0; reg < d.registerCount(); reg += 8) {
        std::map<int64_t, int64_t> bytesOfSector;
        for (int64_t lane = 0; lane < 32; ++lane) {
          Coordinates c = d.coordinates(reg, lane, warp);
          ASSERT_EQ(c[1] % 8, 0);
          bytesOfSector[(c[0] * 4096 + c[1] * 2) / 32] += 16;
        }
        for (auto [sector, bytes] : bytesOfSector)
          EXPECT_EQ(bytes, 32) << columns;
      }
  }
}

} // namespace
