// SPDX-License-Identifier: Apache-2.0
#include "act/Layout/Blocked.h"
#include "act/Layout/Shared.h"
#include "test/lib/MmaOperands.h"
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using namespace act;
using namespace act::layout;

namespace {

template <typename T> T get(const Result<T> &r) {
  EXPECT_TRUE(bool(r)) << r.error().str();
  return *r;
}

/// Turn by turn: a lane is served when its words find their banks free or busy
/// with the same word. Greedy over words is exact, as a word needs one bank.
int64_t slowWavefronts(const std::vector<int64_t> &addresses, int64_t bytes) {
  size_t lanes = bytes == 16 ? 8 : bytes == 8 ? 16 : 32;
  int64_t turns = 0;
  for (size_t first = 0; first < addresses.size(); first += lanes) {
    std::map<int64_t, std::set<int64_t>> wordsOfBank;
    for (size_t i = first; i < std::min(first + lanes, addresses.size()); ++i)
      for (int64_t b = 0; addresses[i] >= 0 && b < bytes; ++b) {
        int64_t byte = addresses[i] + b;
        wordsOfBank[byte / 4 % 32].insert(byte / 4);
      }
    size_t most = 0;
    for (auto &[bank, words] : wordsOfBank)
      most = std::max(most, words.size());
    turns += most;
  }
  return turns;
}

TEST(Wavefronts, AreCountedAsHardwareDoes) {
  auto strided = [](int64_t stride, int lanes = 32) {
    std::vector<int64_t> a;
    for (int i = 0; i < lanes; ++i)
      a.push_back(i * stride);
    return a;
  };
  EXPECT_EQ(wavefronts(strided(4), 4), 1);
  EXPECT_EQ(wavefronts(strided(2), 2), 1);
  EXPECT_EQ(wavefronts(strided(8), 4), 2);
  EXPECT_EQ(wavefronts(strided(128), 4), 32);
  EXPECT_EQ(wavefronts(strided(0), 4), 1);
  EXPECT_EQ(wavefronts(strided(8), 8), 2);
  EXPECT_EQ(wavefronts(strided(16), 16), 4);
  EXPECT_EQ(wavefronts(strided(144), 16), 4);
  EXPECT_EQ(wavefronts(strided(128), 16), 32);
  EXPECT_EQ(wavefronts(strided(128, 8), 16), 8);
  EXPECT_EQ(wavefronts({-1, -1, 4}, 4), 1);
  EXPECT_EQ(wavefronts({}, 4), 0);

  std::mt19937 random(3);
  for (int i = 0; i < 500; ++i) {
    int64_t bytes = int64_t(1) << random() % 5;
    std::vector<int64_t> a(random() % 33);
    for (int64_t &address : a)
      address = random() % 9 ? int64_t(random() % 64) * bytes : -1;
    EXPECT_EQ(wavefronts(a, bytes), slowWavefronts(a, bytes));
  }
}

TEST(Shared, GivesEveryElementBytesOfItsOwn) {
  for (int64_t width : {1, 2, 4, 8})
    for (int64_t columns : {1, 3, 4, 8, 16, 24, 48, 64, 80, 112, 160})
      for (int64_t rows : {1, 2, 5, 8, 16, 24})
        for (int kind = 0; kind < 4; ++kind) {
          std::vector<int64_t> shape = {2, rows, columns};
          Shared s =
              get(kind == 0   ? Shared::evenly(shape, width)
                  : kind == 1 ? Shared::fewest(shape, width)
                  : kind == 2
                      ? Shared::evenly(shape, width, Swizzle::pairs)
                      : Shared::get(shape, width,
                                    {{columns * width}, Swizzle::none, 16}));
          std::vector<bool> taken(s.size());
          for (int64_t k = 0; k < 2; ++k)
            for (int64_t r = 0; r < rows; ++r)
              for (int64_t c = 0; c < columns; ++c) {
                int64_t offset = s.offset({k, r, c});
                EXPECT_EQ(offset % width, 0);
                EXPECT_EQ(offset, s.offset(k, r, c));
                for (int64_t b = 0; b < width; ++b) {
                  ASSERT_LT(offset + b, s.size());
                  ASSERT_FALSE(taken[offset + b]);
                  taken[offset + b] = true;
                }
                if (k == 0) {
                  EXPECT_EQ(s.offset({r, c}), offset);
                }
              }
          // Chunks of 16 bytes stay whole.
          if (columns * width % 16 == 0)
            for (int64_t r = 0; r < rows; ++r)
              for (int64_t c = 0; c < columns; ++c)
                EXPECT_EQ(s.offset(0, r, c) -
                              s.offset(0, r, c / (16 / width) * (16 / width)),
                          c % (16 / width) * width);
        }
}

TEST(Shared, SwizzlesByExclusiveOrWithConstants) {
  Shared s = get(Shared::fewest({3, 64, 120}, 2)); // 240 bytes
  EXPECT_EQ(s.form().str(), "panels = [128, 64, 32, 16], swizzle = chunks");
  EXPECT_EQ(get(Shared::evenly({64, 80}, 2)).form().str(),
            "panels = [32, 32, 32, 32, 32], swizzle = chunks");
  EXPECT_EQ(get(Shared::evenly({4096}, 4)).form().str(), "panels = [16384]");
  EXPECT_EQ(get(Shared::cut({64, 80}, 2, 64)).form().str(),
            "panels = [64, 64, 32], swizzle = chunks");
  EXPECT_EQ(get(Shared::cut({64, 80}, 2, 0)).form().str(), "panels = [160]");
  EXPECT_EQ(Shared::cut({64, 80}, 2, 48).error().str(),
            "the widest panel is 48, expected 128, 64, 32, 16 or 0 bytes");
  EXPECT_EQ(Shared::cut({64, 12}, 2, 64).error().str(),
            "a row that is cut into panels is 24, expected a multiple of 16 "
            "bytes");
  EXPECT_EQ(Shared::evenWidth(192), 64);
  EXPECT_EQ(Shared::evenWidth(24), 0);
  for (const Shared::Panel &p : s.panels()) {
    EXPECT_EQ(p.start % 1024, 0);
    for (int64_t row = 0; row < 64; ++row)
      for (int64_t chunk = 0; chunk < p.bytes / 16; ++chunk) {
        EXPECT_EQ(s.offset(0, row, p.firstByte / 2 + chunk * 8),
                  p.start +
                      ((row * p.pitch + p.chunkXor(row) * 16) ^ (chunk * 16)));
        EXPECT_EQ(p.offset(row + 8, chunk), p.offset(row, chunk) + 8 * p.pitch);
      }
  }
  Shared pairs = get(Shared::evenly({64, 64}, 2, Swizzle::pairs));
  for (int64_t row = 0; row < 64; ++row) {
    const int64_t weighted[] = {0, 2, 4, 6, 3, 1, 7, 5};
    EXPECT_EQ(pairs.panels()[0].chunkXor(row), weighted[row % 8]);
  }
  // The table of the header.
  EXPECT_EQ(s.panels()[0].chunkXor(13), 13 & 7);
  EXPECT_EQ(s.panels()[1].chunkXor(13), 13 >> 1 & 3);
  EXPECT_EQ(s.panels()[2].chunkXor(13), 13 >> 2 & 1);
  EXPECT_EQ(s.panels()[3].chunkXor(13), 0);
  EXPECT_EQ(s.slotBytes() * 3, s.size());
  EXPECT_EQ(s.slotBytes(), 64 * 240);
}

TEST(Shared, RefusesByName) {
  auto refusal = [](std::vector<int64_t> shape, int64_t width,
                    Shared::Form form) {
    auto r = Shared::get(shape, width, form);
    return r ? std::string("accepted") : r.error().str();
  };
  EXPECT_EQ(refusal({8, 64}, 2, {{64}, Swizzle::chunks, 0}),
            "the sum of panels is 64, expected 128, the bytes of a row");
  EXPECT_EQ(refusal({8, 64}, 2, {{64, 128}, Swizzle::chunks, 0}),
            "panel 1 has 128 bytes, but 64 are left of a row of 128");
  EXPECT_EQ(refusal({8, 64}, 2, {{24, 104}, Swizzle::chunks, 0}),
            "the width of panel 0 is 24, expected a multiple of 16 bytes");
  EXPECT_EQ(refusal({8, 64}, 2, {{128}, Swizzle::chunks, 16}),
            "rows are padded or swizzled, not both");
  EXPECT_EQ(refusal({8, 64}, 2, {{128}, Swizzle::none, 1}),
            "the padding is 1, expected 0 to 1024 bytes, a multiple of the "
            "element's 2");
  EXPECT_EQ(refusal({8, 64}, 3, {{192}, Swizzle::none, 0}),
            "an element's size is 3, expected 1, 2, 4, 8 or 16 bytes");
  EXPECT_EQ(refusal({8, 0}, 2, {{0}, Swizzle::none, 0}),
            "an extent is 0, expected 1 or more");
  EXPECT_EQ(refusal({}, 2, {{2}, Swizzle::none, 0}),
            "a block in shared memory has a dimension at least");
  EXPECT_EQ(refusal({int64_t(1) << 40, 64}, 2, {{128}, Swizzle::chunks, 0}),
            "a block in shared memory has less than 2^31 bytes");
  EXPECT_EQ(refusal({1 << 22, 64}, 4, {{256}, Swizzle::none, 1024}),
            "a block in shared memory has less than 2^31 bytes");
}

// ldmatrix takes 8 row addresses for each matrix, with or without .trans: 8
// rows, in any place a multiple of 8 rows down, of one chunk.
TEST(Shared, LdmatrixRowsNeverConflict) {
  for (int64_t width : {1, 2, 4})
    for (int64_t columns = 16; columns <= 256; columns += 16)
      for (int kind = 0; kind < 3; ++kind) {
        std::vector<int64_t> shape = {2, 64, columns};
        Shared s =
            get(kind == 0   ? Shared::evenly(shape, width)
                : kind == 1 ? Shared::evenly(shape, width, Swizzle::pairs)
                            : Shared::fewest(shape, width));
        for (int64_t slot = 0; slot < 2; ++slot)
          for (int64_t row = 0; row < 64; row += 8)
            for (int64_t column = 0; column < columns; column += 16 / width) {
              std::vector<int64_t> rows;
              for (int64_t i = 0; i < 8; ++i)
                rows.push_back(s.offset(slot, row + i, column));
              EXPECT_EQ(wavefronts(rows, 16), 1)
                  << columns << " columns of " << width;
            }
      }
  // What it would be without the exclusive or.
  Shared plain = get(Shared::get({64, 64}, 2, {{128}, Swizzle::none, 0}));
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < 8; ++i)
    rows.push_back(plain.offset(0, i, 0));
  EXPECT_EQ(wavefronts(rows, 16), 8);
}

TEST(Shared, SixteenByteStoresOfBlockedLayoutsNeverConflict) {
  for (int64_t width : {1, 2, 4})
    for (int64_t warps : {1, 4, 8})
      for (int64_t columns = 16; columns <= 256; columns += 16) {
        Distributed d = get(blocked({128, columns}, 16 / width, warps));
        Shared s = get(Shared::evenly({128, columns}, width));
        Traffic stores = s.stores(d), loads = s.loads(d);
        int64_t bytes = 128 * columns * width;
        EXPECT_EQ(stores.bytes, 16);
        EXPECT_EQ(loads.bytes, 16);
        EXPECT_EQ(stores.conflicts(), 0) << columns << " columns of " << width;
        EXPECT_EQ(loads.conflicts(), 0) << columns << " columns of " << width;
        EXPECT_EQ(stores.wavefronts * 128, bytes);
        // Where there are more threads than chunks, copies load too.
        EXPECT_EQ(loads.wavefronts * 128, bytes * d.copies().total());
        EXPECT_EQ(loads.instructions * 4, loads.wavefronts);
      }
}

TEST(Shared, TrafficCountsWhatIsThere) {
  // 4 lanes hold copies: one stores, all load.
  Distributed d = get(mmaAccumulator({64, 32}, 4, 1)).dropped(1);
  Shared s = get(Shared::evenly({64}, 4));
  Traffic stores = s.stores(d), loads = s.loads(d);
  EXPECT_EQ(stores.bytes, 4);
  EXPECT_EQ(stores.instructions, 4 * 2);
  EXPECT_EQ(stores.wavefronts, 8);
  EXPECT_EQ(loads.wavefronts, 8);
  // Warps of copies do not store.
  Distributed whole = get(blocked({32}, 1, 4));
  EXPECT_EQ(get(Shared::evenly({32}, 4)).stores(whole).instructions, 1);
  EXPECT_EQ(get(Shared::evenly({32}, 4)).loads(whole).instructions, 4);
  // Columns of a swizzled panel by single elements.
  Distributed column = get(blocked({64, 64}, 1, 1, {0, 1}));
  EXPECT_GT(get(Shared::evenly({64, 64}, 2)).stores(column).conflicts(), 0);
}

/// Places that lanes and warps add, and those that registers add.
std::pair<std::vector<Place>, std::vector<Place>>
placesOf(const Distributed &d) {
  std::vector<Place> threads, constants;
  for (int64_t warp = 0; warp < d.warpCount(); ++warp)
    for (int64_t lane = 0; lane < 32; ++lane) {
      Coordinates c = d.coordinates(0, lane, warp);
      threads.push_back({c[0], c[1]});
    }
  for (int64_t reg = 0; reg < d.registerCount(); ++reg) {
    Coordinates c = d.coordinates(reg, 0, 0);
    constants.push_back({c[0], c[1]});
  }
  return {threads, constants};
}

TEST(Shared, ThreadsReachTheirRegistersByConstants) {
  for (int64_t columns = 16; columns <= 256; columns += 16)
    for (Swizzle swizzle : {Swizzle::none, Swizzle::chunks, Swizzle::pairs}) {
      Shared s = get(Shared::evenly({128, columns}, 2, swizzle));
      for (const Distributed &d :
           {get(blocked({128, columns}, 8, 4)),
            get(mmaAccumulator({128, columns}, 4, 1)),
            get(mmaOperandB({128, columns}, 2, 2, 16))}) {
        auto [threads, constants] = placesOf(d);
        auto deltas = s.deltas(threads, constants);
        ASSERT_TRUE(deltas.has_value()) << columns << " " << d.str();
        for (size_t r = 0; r < constants.size(); ++r)
          for (size_t t = 0; t < threads.size(); ++t)
            ASSERT_EQ(s.offset(d.coordinates(r, t % 32, t / 32)),
                      (s.offset(0, threads[t][0], threads[t][1]) ^
                       (*deltas)[r].flip) +
                          (*deltas)[r].add);
      }
    }
  // A row beside another carries into the next.
  Shared s = get(Shared::evenly({128, 64}, 2));
  EXPECT_FALSE(s.deltas({{0, 0}, {1, 0}}, {{1, 0}}).has_value());
  EXPECT_TRUE(s.deltas({{0, 0}, {2, 0}}, {{1, 0}}).has_value());
  // Two widths, two swizzles.
  Shared mixed = get(Shared::fewest({128, 80}, 2));
  EXPECT_FALSE(mixed.deltas({{0, 0}, {1, 0}}, {{0, 64}}).has_value());
}

TEST(Shared, OperandsOfF32InPlacesOf16BitsDoNotConflictInPairs) {
  // Which f32 has that is multiplied in parts of bf16.
  for (int64_t k : {16, 32, 64, 80, 128})
    for (int64_t n : {16, 32, 48, 64, 80, 112, 128})
      for (const Distributed &d : {get(mmaOperandA({64, k}, 2, 2, 16)),
                                   get(mmaOperandB({k, n}, 2, 2, 16))})
        for (const Distributed &l : {d, d.transposed({1, 0})}) {
          Shared s = get(Shared::evenly(l.shape(), 4, Swizzle::pairs));
          EXPECT_EQ(s.loads(l).conflicts(), 0) << l.str();
        }
}

TEST(Choose, LeavesNoConflictWhereAccumulatorsBecomeRows) {
  for (int64_t columns = 16; columns <= 256; columns += 16)
    for (int64_t width : {2, 4}) {
      Distributed from = get(mmaAccumulator({128, columns}, 4, 1)),
                  to = get(blocked({128, columns}, 16 / width, 4));
      Passage p = get(choose(from, to, width));
      EXPECT_EQ(p.writes.bytes, 2 * width);
      EXPECT_EQ(p.reads.bytes, 16);
      EXPECT_FALSE(p.transposed);
      EXPECT_EQ(p.writes.conflicts(), 0)
          << columns << " of " << width << " " << p.shared.form().str();
      EXPECT_EQ(p.reads.conflicts(), 0)
          << columns << " of " << width << " " << p.shared.form().str();
    }
}

TEST(Choose, ReadsOperandsByLdmatrix) {
  for (int64_t n = 16; n <= 256; n += 16) {
    // What one product accumulates, another takes as operand B,
    Distributed from = get(mmaAccumulator({64, n}, 4, 1)),
                b = get(mmaOperandB({64, n}, 4, 1, 16));
    Passage p = get(choose(from, b, 2));
    EXPECT_TRUE(p.byLdmatrix);
    EXPECT_FALSE(p.transposed);
    EXPECT_EQ(p.writes.conflicts() + p.reads.conflicts(), 0) << n;
    EXPECT_EQ(p.reads.instructions, 4 * 64 / 8 * n / 8 / 4);
    // or, transposed, as operand A: stored in its own rows.
    if (n % 64)
      continue;
    Distributed a = get(mmaOperandA({n, 64}, 4, 1, 16));
    Passage q = get(choose(from.transposed({1, 0}), a, 2));
    EXPECT_TRUE(q.byLdmatrix);
    EXPECT_TRUE(q.transposed);
    EXPECT_EQ(q.writes.conflicts() + q.reads.conflicts(), 0) << n;
  }
}

TEST(Choose, TakesAnyPairOfLayouts) {
  Distributed rows = get(blocked({64, 64}, 4, 4)),
              columns = get(blocked({64, 64}, 4, 4, {0, 1}));
  Passage p = get(choose(rows, columns, 4));
  EXPECT_LE(p.writes.conflicts() + p.reads.conflicts(),
            p.writes.least + p.reads.least);
  EXPECT_EQ(p.writes.instructions,
            p.shared.stores(p.transposed ? rows.transposed({1, 0}) : rows)
                .instructions);
  Distributed scalar = get(blocked({}, 1, 2));
  EXPECT_EQ(get(choose(scalar, scalar, 4)).writes.instructions, 1);
  Distributed odd = get(blocked({5, 7}, 7, 2)),
              odd2 = get(blocked({5, 7}, 5, 2, {0, 1}));
  EXPECT_GT(get(choose(odd, odd2, 2)).writes.instructions, 0);
  EXPECT_EQ(choose(rows, odd, 4).error().str(), "layouts of different shapes");
}

} // namespace
