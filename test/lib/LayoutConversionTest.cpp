// SPDX-License-Identifier: Apache-2.0
#include "act/Layout/Blocked.h"
#include "act/Layout/Conversion.h"
#include "test/lib/MmaOperands.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace act;
using namespace act::layout;
using Kind = Conversion::Kind;

namespace {

template <typename T> T get(const Result<T> &r) {
  EXPECT_TRUE(bool(r)) << r.error().str();
  return *r;
}

/// What the source of a coordinate is called where `from` has extent 1.
Coordinates clamped(Coordinates c, const Distributed &from) {
  for (size_t d = 0; d < c.size(); ++d)
    if (from.shape()[d] == 1)
      c[d] = 0;
  return c;
}

/// Runs the conversion on registers that hold coordinates.
void simulate(const Distributed &from, const Distributed &to,
              const Conversion &c) {
  for (int64_t warp = 0; warp < to.warpCount(); ++warp) {
    std::vector<std::vector<Coordinates>> have(32), made(32);
    for (int64_t lane = 0; lane < 32; ++lane) {
      for (int64_t r = 0; r < from.registerCount(); ++r)
        have[lane].push_back(from.coordinates(r, lane, warp));
      made[lane].resize(to.registerCount());
    }
    if (c.kind != Kind::Shuffle) {
      ASSERT_EQ(int64_t(c.table.size()), to.registerCount());
      for (int64_t lane = 0; lane < 32; ++lane)
        for (int64_t r = 0; r < to.registerCount(); ++r)
          made[lane][r] = have[lane][c.table[r]];
    }
    for (const Conversion::Step &step : c.steps)
      for (int64_t lane = 0; lane < 32; ++lane)
        for (int64_t k = 0; k < c.width; ++k) {
          Coordinates &kept = made[lane].at(step.keepsAs[lane] + k);
          ASSERT_TRUE(kept.empty()) << "kept twice";
          int64_t source = step.takesFrom[lane];
          ASSERT_EQ(step.offers[source] % c.width, 0);
          kept = have.at(source).at(step.offers[source] + k);
        }
    for (int64_t lane = 0; lane < 32; ++lane)
      for (int64_t r = 0; r < to.registerCount(); ++r) {
        int64_t original = c.kind == Kind::Shuffle ? c.original[r] : r;
        ASSERT_EQ(made[lane][original],
                  clamped(to.coordinates(r, lane, warp), from));
      }
  }
}

/// What the schedule says of itself for those who write code from it.
void checkTables(const Conversion &c) {
  for (const Conversion::Step &s : c.steps) {
    bool local = true;
    for (int lane = 0; lane < 32; ++lane) {
      EXPECT_EQ(s.takesFrom[lane], c.place(lane) ^ s.flip);
      if (c.isButterfly()) {
        EXPECT_EQ(s.takesFrom[lane], lane ^ s.flip);
      }
      local &= s.takesFrom[lane] == lane;
      EXPECT_EQ(s.offers[lane], s.offers[lane & c.offerBits]);
      EXPECT_EQ(s.keepsAs[lane], s.keepsAs[lane & c.keepBits]);
    }
    EXPECT_EQ(s.isLocal, local);
  }
}

struct Bit {
  unsigned dim;
  int64_t stride, extent;
};

/// Layouts of one shape and the same warps, with lanes and registers dealt
/// anew.
struct Deal {
  std::vector<int64_t> shape;
  std::vector<Bit> bits; // of extent 2, lanes or registers
  Digits others;         // of registers, any extent
  Digits warps;

  explicit Deal(std::mt19937 &random) {
    unsigned rank = 1 + random() % 3;
    shape.assign(rank, 1);
    unsigned count = random() % 9;
    int kinds[16], n = 0;
    for (unsigned i = 0; i < count; ++i)
      kinds[n++] = 0;
    for (unsigned i = random() % 3; i > 0; --i)
      kinds[n++] = 1;
    for (unsigned i = random() % 3; i > 0; --i)
      kinds[n++] = 2;
    std::shuffle(kinds, kinds + n, random);
    for (int i = 0; i < n; ++i) {
      unsigned dim = random() % rank;
      int64_t extent =
          kinds[i] == 0 ? 2 : 2 + random() % (kinds[i] == 1 ? 4 : 2);
      int64_t stride = shape[dim];
      shape[dim] *= extent;
      if (kinds[i] == 0)
        bits.push_back({dim, stride, 2});
      else
        (kinds[i] == 1 ? others : warps).push_back(digit(dim, stride, extent));
    }
    if (random() % 3 == 0)
      warps.insert(warps.begin() + random() % (warps.size() + 1),
                   digit(0, 0, 2));
  }
  Digit digit(unsigned dim, int64_t stride, int64_t extent) const {
    Digit d{extent, std::vector<int64_t>(shape.size(), 0)};
    d.strides[dim] = stride;
    return d;
  }
  Distributed deal(std::mt19937 &random) const {
    std::vector<Bit> all = bits;
    if (random() % 2)
      std::shuffle(all.begin(), all.end(), random);
    Digits registers = others, lanes;
    for (const Bit &bit : all) {
      bool lane = lanes.size() < 5 && random() % 3;
      (lane ? lanes : registers).push_back(digit(bit.dim, bit.stride, 2));
    }
    while (lanes.size() < 5)
      lanes.insert(lanes.begin() + random() % (lanes.size() + 1),
                   digit(0, 0, 2));
    if (random() % 2)
      std::shuffle(registers.begin(), registers.end(), random);
    if (random() % 4 == 0)
      registers.insert(registers.begin() + random() % (registers.size() + 1),
                       digit(0, 0, 2 + random() % 2));
    return get(Distributed::get(shape, registers, lanes, warps));
  }
};

TEST(Conversion, SchedulesBringEveryValueToItsPlace) {
  std::mt19937 random(11);
  int kinds[4] = {};
  for (int i = 0; i < 800; ++i) {
    Deal deal(random);
    Distributed from = deal.deal(random), to = deal.deal(random);
    int64_t bytes = int64_t(1) << random() % 4;
    Conversion c = get(Conversion::get(from, to, bytes));
    ASSERT_NE(c.kind, Kind::Shared) << from.str() << " to " << to.str();
    ++kinds[int(c.kind)];
    simulate(from, to, c);
    checkTables(c);
    if (c.kind == Kind::Shuffle) {
      int64_t distinct = to.withoutRegisterCopies().registerCount();
      EXPECT_EQ(int64_t(c.steps.size()) * c.width, distinct);
      EXPECT_LE(c.width * std::min<int64_t>(bytes, 4), 4);
    }
  }
  EXPECT_GT(kinds[int(Kind::Shuffle)], 500);
  EXPECT_GT(kinds[int(Kind::Registers)], 20);
}

TEST(Conversion, BroadcastsOnTheWay) {
  std::mt19937 random(12);
  int shuffled = 0, own = 0;
  for (int i = 0; i < 600; ++i) {
    Deal deal(random);
    Distributed to = deal.deal(random), other = deal.deal(random);
    unsigned dim = random() % to.rank();
    // Of rows of another layout, or of the layout itself: then nothing moves.
    bool itself = random() % 2;
    Distributed from = (itself ? to : other).dropped(dim).expanded(dim);
    Conversion c = get(Conversion::get(from, to, 4));
    if (c.kind == Kind::Shared)
      continue;
    simulate(from, to, c);
    checkTables(c);
    shuffled += c.kind == Kind::Shuffle;
    if (itself) {
      EXPECT_TRUE(c.kind == Kind::Registers || c.kind == Kind::Nothing);
      ++own;
    }
  }
  EXPECT_GT(shuffled, 100);
  EXPECT_GT(own, 200);
}

TEST(Conversion, KindsAgreeWithTheirDefinitions) {
  std::mt19937 random(13);
  int seen[4] = {};
  for (int i = 0; i < 120; ++i) {
    // Shapes by random factors, so that not every pair can be refined.
    std::vector<int64_t> shape = {int64_t(1) << random() % 8,
                                  (1 + int64_t(random() % 6)) * 4};
    auto draw = [&] {
      std::vector<int64_t> vectors;
      for (int64_t v = 1; v <= shape[1]; ++v)
        if (shape[1] % v == 0)
          vectors.push_back(v);
      int64_t vector = vectors[random() % vectors.size()];
      bool columns = random() % 3 == 0;
      Distributed d = get(columns ? blocked(shape, 1, 2, {0, 1})
                                  : blocked(shape, vector, 2));
      Digits registers = d.registers();
      if (random() % 3 == 0)
        std::reverse(registers.begin(), registers.end());
      return get(Distributed::get(shape, registers, d.lanes(), d.warps()));
    };
    Distributed from = draw(), to = draw();
    Conversion c = get(Conversion::get(from, to, 2));
    ++seen[int(c.kind)];

    bool nothing = from.registerCount() == to.registerCount(), inWarp = true;
    std::vector<std::set<int64_t>> candidates(to.registerCount());
    for (auto &set : candidates)
      for (int64_t r = 0; r < from.registerCount(); ++r)
        set.insert(r);
    for (int64_t w = 0; w < 2; ++w) {
      std::set<Coordinates> here;
      for (int64_t l = 0; l < 32; ++l)
        for (int64_t r = 0; r < from.registerCount(); ++r)
          here.insert(from.coordinates(r, l, w));
      for (int64_t l = 0; l < 32; ++l)
        for (int64_t r = 0; r < to.registerCount(); ++r) {
          Coordinates x = to.coordinates(r, l, w);
          inWarp &= here.count(x) > 0;
          nothing = nothing && from.coordinates(r, l, w) == x;
          for (int64_t k = 0; k < from.registerCount(); ++k)
            if (from.coordinates(k, l, w) != x)
              candidates[r].erase(k);
        }
    }
    bool renamed = std::all_of(candidates.begin(), candidates.end(),
                               [](const auto &set) { return !set.empty(); });
    EXPECT_EQ(c.kind == Kind::Nothing, nothing);
    EXPECT_EQ(c.kind == Kind::Nothing || c.kind == Kind::Registers, renamed);
    if (c.kind == Kind::Shuffle) {
      EXPECT_TRUE(inWarp);
    }
    if (c.kind != Kind::Shared)
      simulate(from, to, c);
  }
  for (int kind = 0; kind < 4; ++kind)
    EXPECT_GT(seen[kind], 0) << name(Kind(kind));
}

TEST(Conversion, OfAttention) {
  // S = Q K becomes P, the operand of P V, as it stands.
  Distributed s = get(mmaAccumulator({128, 64}, 4, 1));
  EXPECT_EQ(
      get(Conversion::get(s, get(mmaOperandA({128, 64}, 4, 1, 16)), 2)).kind,
      Kind::Nothing);
  // A statistic of a row scales the row.
  Distributed rows = s.dropped(1).expanded(1);
  EXPECT_EQ(get(Conversion::get(rows, s, 4)).kind, Kind::Registers);
  // A warp's transposed accumulator is its operand B but for names; with more
  // warps along n, tiles of 8 rather than of 16 columns take turns.
  Distributed st = get(mmaAccumulator({32, 64}, 1, 1)).transposed({1, 0}),
              b = get(mmaOperandB({64, 32}, 1, 1, 16));
  EXPECT_EQ(get(Conversion::get(st, b, 2)).kind, Kind::Registers);
  simulate(st, b, get(Conversion::get(st, b, 2)));
  EXPECT_EQ(get(Conversion::get(s.transposed({1, 0}),
                                get(mmaOperandB({64, 128}, 1, 4, 16)), 2))
                .kind,
            Kind::Shared);
  // Accumulators become 8-bit operands by exchanging between 4 lanes.
  Distributed q = get(mmaOperandA({128, 64}, 4, 1, 8));
  Conversion c = get(Conversion::get(s, q, 1));
  EXPECT_EQ(c.kind, Kind::Shuffle);
  EXPECT_EQ(c.width, 2);
  simulate(s, q, c);
  // Rows of 16 bytes for stores: 32 registers, two to a step.
  Distributed o = get(mmaAccumulator({64, 80}, 4, 1));
  Distributed store = get(Tower({64, 80})
                              .registers(1, 8)
                              .lanes(1, 2)
                              .lanes(0, 16)
                              .registers(1, 5)
                              .warps(0, 4)
                              .get());
  Conversion d = get(Conversion::get(o, store, 2));
  EXPECT_EQ(d.kind, Kind::Shuffle);
  EXPECT_EQ(d.width, 2);
  EXPECT_EQ(d.steps.size(), 20u);
  simulate(o, store, d);
}

TEST(Conversion, ExchangesBetweenNeighboursByOneButterfly) {
  Distributed from =
      get(Distributed::get({64}, {{2, {1}}}, {{2, {2}}, {16, {4}}}, {}));
  Distributed to =
      get(Distributed::get({64}, {{2, {2}}}, {{2, {1}}, {16, {4}}}, {}));
  Conversion c = get(Conversion::get(from, to, 4));
  EXPECT_EQ(c.kind, Kind::Shuffle);
  EXPECT_TRUE(c.isButterfly());
  EXPECT_EQ(c.shuffles(), 1);
  ASSERT_EQ(c.steps.size(), 2u);
  EXPECT_EQ(c.steps[1].flip, 1);
  EXPECT_EQ(c.steps[1].offers[0], 1);
  EXPECT_EQ(c.steps[1].offers[1], 0);
  EXPECT_EQ(c.steps[1].keepsAs[0], 1);
  EXPECT_EQ(c.steps[1].keepsAs[1], 0);
  EXPECT_EQ(c.offerBits, 1);
  EXPECT_EQ(c.keepBits, 1);
}

TEST(Conversion, GathersForCopiesWithoutSelects) {
  Distributed spread = get(Distributed::get({32}, {}, {{32, {1}}}, {}));
  Distributed whole = get(Distributed::get({32}, {{32, {1}}}, {{32, {0}}}, {}));
  Conversion gather = get(Conversion::get(spread, whole, 4));
  EXPECT_EQ(gather.steps.size(), 32u);
  EXPECT_EQ(gather.keepBits, 0);
  EXPECT_EQ(gather.offerBits, 0);
  simulate(spread, whole, gather);
  // And back: each lane has it, and selects it.
  Conversion scatter = get(Conversion::get(whole, spread, 4));
  EXPECT_EQ(scatter.shuffles(), 0);
  EXPECT_EQ(scatter.offerBits, 31);
  simulate(whole, spread, scatter);
}

TEST(Conversion, ShufflesWhereThatIsCheaper) {
  auto deal = [](Digits registers, Digits lanes, int64_t size) {
    return get(Distributed::get({size}, registers, lanes, {}));
  };
  // One bit of lanes for one of registers: of two words one is shuffled, with 4
  // selects, which is 3 cycles; stored and loaded they are 4, however many.
  for (int64_t n : {2, 256}) {
    Distributed from = deal({{2, {1}}, {n / 2, {64}}}, {{2, {2}}, {16, {4}}},
                            32 * n),
                to = deal({{2, {2}}, {n / 2, {64}}}, {{2, {1}}, {16, {4}}},
                          32 * n);
    EXPECT_TRUE(get(Conversion::get(from, to, 4)).shuffleIsCheaper()) << n;
    EXPECT_TRUE(get(Conversion::get(from, to, 8)).shuffleIsCheaper()) << n;
  }
  // Two bits have 6 selects for a word: only while a barrier costs more.
  for (int64_t n : {4, 8}) {
    Digits rows = {{4, {4}}, {8, {16}}}, columns = {{4, {1}}, {8, {16}}};
    Conversion c =
        get(Conversion::get(deal({{4, {1}}, {n, {128}}}, rows, 128 * n),
                            deal({{4, {4}}, {n, {128}}}, columns, 128 * n), 4));
    EXPECT_EQ(int64_t(c.steps.size()), 4 * n);
    EXPECT_EQ(c.shuffles(), 3 * n);
    EXPECT_EQ(c.shuffleIsCheaper(), n == 4);
  }
  // A row for all lanes: loads of 16 bytes bring 4 words to all.
  Distributed spread = deal({}, {{32, {1}}}, 32),
              whole = deal({{32, {1}}}, {{32, {0}}}, 32);
  Conversion gather = get(Conversion::get(spread, whole, 4));
  EXPECT_EQ(gather.lanes, 1);
  EXPECT_TRUE(gather.shuffleIsCheaper());
  EXPECT_FALSE(get(Conversion::get(deal({{4, {32}}}, {{32, {1}}}, 128),
                                   deal({{128, {1}}}, {{32, {0}}}, 128), 4))
                   .shuffleIsCheaper());
  // Nothing to shuffle.
  EXPECT_FALSE(get(Conversion::get(whole, whole, 4)).shuffleIsCheaper());
}

TEST(Conversion, GoesThroughSharedMemoryWhereItMust) {
  // Other warps.
  Distributed s = get(mmaAccumulator({128, 64}, 4, 1));
  EXPECT_EQ(
      get(Conversion::get(s, get(mmaAccumulator({128, 64}, 2, 2)), 4)).kind,
      Kind::Shared);
  // Thirds and halves have no common refinement.
  Distributed x = get(Distributed::get({96}, {{3, {1}}}, {{32, {3}}}, {}));
  Distributed y =
      get(Distributed::get({96}, {{3, {2}}}, {{2, {1}}, {16, {6}}}, {}));
  EXPECT_EQ(get(Conversion::get(x, y, 4)).kind, Kind::Shared);
}

TEST(Conversion, RefusesOtherShapes) {
  Distributed x = get(blocked({64, 64}, 8, 4)),
              y = get(blocked({64, 32}, 8, 4));
  EXPECT_EQ(Conversion::get(x, y, 2).error().str(),
            "dimension 1 has extent 64, which does not become 32");
  EXPECT_EQ(Conversion::get(x, y.dropped(0), 2).error().str(),
            "layouts of 2 and of 1 dimensions");
  EXPECT_EQ(Conversion::get(x, x, 0).error().str(),
            "elements have 0 bytes, expected 1 or more");
}

} // namespace
