// SPDX-License-Identifier: Apache-2.0
#include "act/Layout/Distributed.h"
#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace act;
using namespace act::layout;

namespace {

Distributed make(std::vector<int64_t> shape, Digits registers, Digits lanes,
                 Digits warps) {
  auto r = Distributed::get(shape, registers, lanes, warps);
  EXPECT_TRUE(bool(r)) << r.error().str();
  return *r;
}

std::string refusal(std::vector<int64_t> shape, Digits registers, Digits lanes,
                    Digits warps) {
  auto r = Distributed::get(shape, registers, lanes, warps);
  return r ? "accepted" : r.error().str();
}

/// Sum of digit * stride, written once more.
Coordinates sum(const Digits &digits, int64_t index, size_t rank) {
  Coordinates c(rank, 0);
  for (const Digit &digit : digits) {
    for (size_t d = 0; d < rank; ++d)
      c[d] += index % digit.extent * digit.strides[d];
    index /= digit.extent;
  }
  return c;
}

int64_t product(const Digits &digits) {
  int64_t p = 1;
  for (const Digit &digit : digits)
    p *= digit.extent;
  return p;
}

/// Counts how often each coordinate is held when digits that are all zeros are
/// left out: valid if once each.
bool covers(const std::vector<int64_t> &shape, const Digits &registers,
            const Digits &lanes, const Digits &warps) {
  Digits all;
  for (const Digits *list : {&registers, &lanes, &warps})
    for (const Digit &digit : *list) {
      bool copies = true;
      for (int64_t s : digit.strides)
        copies &= s == 0;
      if (!copies)
        all.push_back(digit);
    }
  std::map<Coordinates, int> seen;
  for (int64_t i = 0; i < product(all); ++i) {
    Coordinates c = sum(all, i, shape.size());
    for (size_t d = 0; d < shape.size(); ++d)
      if (c[d] < 0 || c[d] >= shape[d])
        return false;
    if (++seen[c] > 1)
      return false;
  }
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  return int64_t(seen.size()) == elements;
}

const Digits accumulatorLanes = {{4, {0, 2}}, {8, {1, 0}}};

TEST(Distributed, HoldsWhatTheHeaderSays) {
  Distributed d =
      make({16, 8}, {{2, {0, 1}}, {2, {8, 0}}}, accumulatorLanes, {});
  EXPECT_EQ(d.coordinates(2, 13, 0), (Coordinates{11, 2}));
  EXPECT_EQ(d.holder({11, 2}), (Holder{2, 13, 0}));
  EXPECT_EQ(d.str(), "register = [2:(0,1), 2:(8,0)], lane = [4:(0,2), "
                     "8:(1,0)], warp = []");
  EXPECT_EQ(d.copies().total(), 1);
  auto tower = Tower({64, 32})
                   .registers(1, 2)
                   .lanes(1, 4)
                   .lanes(0, 8)
                   .registers(0, 2)
                   .registers(1, 4)
                   .warps(0, 4)
                   .get();
  ASSERT_TRUE(bool(tower)) << tower.error().str();
  EXPECT_EQ(tower->str(), "register = [2:(0,1), 2:(8,0), 4:(0,8)], lane = "
                          "[4:(0,2), 8:(1,0)], warp = [4:(16,0)]");
}

TEST(Distributed, RefusesByName) {
  EXPECT_EQ(
      refusal({16, 8}, {{2, {0, 1}}}, {{4, {0, 2}}, {8, {2, 0}}}, {}),
      "coordinate 1 along dimension 0 is held by no thread: lane digit 1, "
      "`8:(2,0)`, is the next and has stride 2, expected 1");
  EXPECT_EQ(refusal({8, 8}, {{2, {0, 1}}}, {{4, {0, 1}}, {8, {1, 0}}}, {}),
            "lane digit 0, `4:(0,1)`, and register digit 0, `2:(0,1)`, hold "
            "the same coordinates along dimension 1: stride 1, expected 2");
  EXPECT_EQ(refusal({16, 8}, {{2, {0, 1}}}, accumulatorLanes, {}),
            "digits cover 8 of 16 coordinates along dimension 0");
  EXPECT_EQ(refusal({8, 8}, {{2, {0, 1}}, {2, {8, 0}}}, accumulatorLanes, {}),
            "register digit 1, `2:(8,0)`, leaves the shape along dimension 0: "
            "it reaches beyond extent 8");
  EXPECT_EQ(refusal({8}, {}, {{8, {1}}}, {}),
            "lane digits [8:(1)] multiply to 8, expected 32");
  EXPECT_EQ(refusal({64}, {}, {{64, {1}}}, {}),
            "lane digits [64:(1)] multiply to more than 32, expected 32");
  EXPECT_EQ(refusal({32}, {}, {{32, {1}}}, {{64, {0}}}),
            "warp digits [64:(0)] multiply to more than 32, the most warps");
  EXPECT_EQ(refusal({32}, {{int64_t(1) << 62, {0}}, {8, {0}}}, {{32, {1}}}, {}),
            "register digits [4611686018427387904:(0), 8:(0)] multiply to more "
            "than 65536, the registers of a whole file");
  EXPECT_EQ(refusal({32, 1}, {}, {{32, {1}}}, {}),
            "lane digit 0, `32:(1)`, has 1 strides, expected 2, one per "
            "dimension");
  EXPECT_EQ(refusal({32}, {{0, {1}}}, {{32, {1}}}, {}),
            "register digit 0, `0:(1)`, has extent 0, expected 1 or more");
  EXPECT_EQ(refusal({32}, {}, {{32, {-1}}}, {}),
            "lane digit 0, `32:(-1)`, has stride -1, expected 0 or more");
  EXPECT_EQ(refusal({32, 32}, {}, {{32, {1, 1}}}, {}),
            "lane digit 0, `32:(1,1)`, moves along 2 dimensions, so some "
            "coordinates are held by no thread or twice; expected at most one "
            "dimension");
  EXPECT_EQ(refusal({0}, {}, {{32, {0}}}, {}),
            "dimension 0 has extent 0, expected 1 or more");
  EXPECT_EQ(
      refusal({int64_t(1) << 40, int64_t(1) << 40}, {}, {{32, {0, 0}}}, {}),
      "shape (1099511627776,1099511627776) has more than 2^63 elements");
}

TEST(Distributed, EqualFunctionsAreEqualLists) {
  Distributed x = make({256}, {{2, {1}}, {1, {7}}, {4, {2}}},
                       {{2, {8}}, {16, {16}}}, {{2, {0}}, {2, {0}}});
  EXPECT_EQ(x, make({256}, {{8, {1}}}, {{32, {8}}}, {{4, {0}}}));
  EXPECT_EQ(x.str(), "register = [8:(1)], lane = [32:(8)], warp = [4:(0)]");
  EXPECT_NE(x, make({256}, {{8, {1}}}, {{32, {8}}}, {{2, {0}}}));
  EXPECT_EQ(x.contiguous(0), 8);
}

/// Splits an extent into random factors.
std::vector<int64_t> factors(int64_t extent, std::mt19937 &random) {
  std::vector<int64_t> result;
  while (extent > 1) {
    std::vector<int64_t> divisors;
    for (int64_t f = 2; f <= extent; ++f)
      if (extent % f == 0)
        divisors.push_back(f);
    result.push_back(divisors[random() % divisors.size()]);
    extent /= result.back();
  }
  return result;
}

struct Random {
  std::vector<int64_t> shape;
  Digits registers, lanes, warps;
};

/// A valid layout: the digits of each dimension dealt out to the three lists.
Random drawValid(std::mt19937 &random, unsigned rank, bool someCopies = true) {
  Random r;
  for (unsigned d = 0; d < rank; ++d)
    r.shape.push_back(1);
  auto add = [&](Digits &list, unsigned d, int64_t extent) {
    Digit digit{extent, std::vector<int64_t>(rank, 0)};
    if (!someCopies || random() % 5) {
      digit.strides[d] = r.shape[d];
      r.shape[d] *= extent;
    }
    list.push_back(digit);
  };
  // Deal factors of 32 lanes, some warps, some registers in a random order.
  std::vector<std::pair<Digits *, int64_t>> deal;
  for (int64_t f : factors(32, random))
    deal.push_back({&r.lanes, f});
  for (int64_t f : factors(1 + random() % 6, random))
    deal.push_back({&r.warps, f});
  for (int64_t f : factors(1 + random() % 20, random))
    deal.push_back({&r.registers, f});
  std::shuffle(deal.begin(), deal.end(), random);
  for (auto [list, extent] : deal)
    add(*list, random() % rank, extent);
  for (Digits *list : {&r.registers, &r.lanes, &r.warps})
    if (random() % 3 == 0)
      std::shuffle(list->begin(), list->end(), random);
  return r;
}

TEST(Distributed, AcceptsExactlyWhatCoversTheShapeOnce) {
  std::mt19937 random(7);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 4000; ++i) {
    unsigned rank = 1 + random() % 3;
    Random r = drawValid(random, rank);
    // Break about half of them, in one place, not always noticeably.
    auto digit = [&]() -> Digit & {
      Digits *lists[] = {&r.registers, &r.lanes, &r.warps};
      for (;;)
        if (Digits *list = lists[random() % 3]; !list->empty())
          return (*list)[random() % list->size()];
    };
    switch (random() % 8) {
    case 0:
      digit().strides[random() % rank] = random() % 9;
      break;
    case 1:
      r.shape[random() % rank] += random() % 2 ? 1 : -1;
      break;
    case 2: {
      Digit &x = digit(), &y = digit();
      std::swap(x.strides, y.strides);
      break;
    }
    case 3:
      r.registers.push_back({2, digit().strides});
      break;
    default:
      break;
    }
    bool positive = true;
    for (int64_t extent : r.shape)
      positive &= extent > 0;
    bool expected = positive && covers(r.shape, r.registers, r.lanes, r.warps);
    auto got = Distributed::get(r.shape, r.registers, r.lanes, r.warps);
    EXPECT_EQ(bool(got), expected)
        << layout::str(r.registers) << layout::str(r.lanes)
        << layout::str(r.warps) << (got ? "" : got.error().str());
    (expected ? accepted : refused)++;
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 300);
}

void forAll(const Distributed &d,
            const std::function<void(int64_t, int64_t, int64_t)> &body) {
  for (int64_t w = 0; w < d.warpCount(); ++w)
    for (int64_t l = 0; l < 32; ++l)
      for (int64_t r = 0; r < d.registerCount(); ++r)
        body(r, l, w);
}

TEST(Distributed, CanonicalFormAndInverseAgreeWithBruteForce) {
  std::mt19937 random(8);
  for (int i = 0; i < 200; ++i) {
    Random r = drawValid(random, 1 + random() % 3);
    Distributed d = make(r.shape, r.registers, r.lanes, r.warps);
    ASSERT_EQ(d.registerCount(), product(r.registers));
    ASSERT_EQ(d.warpCount(), product(r.warps));
    std::map<Coordinates, std::vector<Holder>> who;
    forAll(d, [&](int64_t reg, int64_t lane, int64_t warp) {
      Coordinates c = sum(r.registers, reg, r.shape.size());
      Coordinates l = sum(r.lanes, lane, r.shape.size());
      Coordinates w = sum(r.warps, warp, r.shape.size());
      for (size_t k = 0; k < c.size(); ++k)
        c[k] += l[k] + w[k];
      ASSERT_EQ(d.coordinates(reg, lane, warp), c);
      who[c].push_back({reg, lane, warp});
    });
    int64_t copies = d.copies().total();
    for (auto &[c, all] : who) {
      ASSERT_EQ(int64_t(all.size()), copies);
      EXPECT_EQ(d.holder(c), all.front()); // enumerated warps, lanes, registers
      EXPECT_EQ(d.holders(c), all);
      int first = 0;
      for (const Holder &h : all)
        first += d.isFirst(h.lane, h.warp);
      EXPECT_EQ(first, d.copies().registers);
    }
  }
}

/// What get() says about a layout that was derived.
bool isValid(const Distributed &d) {
  return covers(d.shape(), d.registers(), d.lanes(), d.warps());
}

TEST(Distributed, BitsOfLanesMoveAlongDimensions) {
  std::mt19937 random(14);
  for (int i = 0; i < 200; ++i) {
    Random r = drawValid(random, 1 + random() % 3);
    Distributed d = make(r.shape, r.registers, r.lanes, r.warps);
    for (int bit = 0; bit < 5; ++bit) {
      Coordinates c = d.coordinates(0, 1 << bit, 0);
      bool moves = false;
      for (unsigned dim = 0; dim < d.rank(); ++dim) {
        EXPECT_EQ(d.laneBits(dim) >> bit & 1, c[dim] != 0);
        moves |= c[dim] != 0;
      }
      EXPECT_EQ(d.laneCopyBits() >> bit & 1, !moves);
    }
    EXPECT_EQ(d.laneCopyBits() >> 5, 0);
  }
}

TEST(Distributed, DerivedLayoutsHoldWhatTheirOperationsSay) {
  std::mt19937 random(9);
  for (int i = 0; i < 200; ++i) {
    unsigned rank = 1 + random() % 3;
    Random r = drawValid(random, rank);
    Distributed d = make(r.shape, r.registers, r.lanes, r.warps);
    unsigned dim = random() % rank;

    Distributed dropped = d.dropped(dim);
    EXPECT_TRUE(isValid(dropped));
    EXPECT_EQ(dropped.copies().registers, 1);
    forAll(d, [&](int64_t reg, int64_t lane, int64_t warp) {
      Coordinates c = d.coordinates(reg, lane, warp);
      c.erase(c.begin() + dim);
      // The result of the reduction is in the same lane and warp.
      bool here = false;
      for (int64_t q = 0; q < dropped.registerCount(); ++q)
        here |= dropped.coordinates(q, lane, warp) == c;
      EXPECT_TRUE(here);
    });

    unsigned at = random() % (rank + 1);
    Distributed expanded = d.expanded(at);
    EXPECT_TRUE(isValid(expanded));
    EXPECT_EQ(expanded.dropped(at), d.withoutRegisterCopies());
    EXPECT_TRUE(isValid(d.withoutRegisterCopies()));
    int64_t extent = 1 + random() % 5;
    Distributed broad = expanded.broadcast(at, extent);
    EXPECT_TRUE(isValid(broad));
    forAll(broad, [&](int64_t reg, int64_t lane, int64_t warp) {
      Coordinates c = broad.coordinates(reg, lane, warp);
      EXPECT_EQ(c[at], reg / d.registerCount());
      c.erase(c.begin() + at);
      EXPECT_EQ(c, d.coordinates(reg % d.registerCount(), lane, warp));
    });

    Distributed projected = d.projected(dim);
    EXPECT_TRUE(isValid(projected));
    forAll(d, [&](int64_t reg, int64_t lane, int64_t warp) {
      Coordinates c = d.coordinates(reg, lane, warp);
      c[dim] = 0;
      EXPECT_EQ(projected.coordinates(reg, lane, warp), c);
    });

    std::vector<unsigned> permutation(rank);
    for (unsigned k = 0; k < rank; ++k)
      permutation[k] = k;
    std::shuffle(permutation.begin(), permutation.end(), random);
    Distributed transposed = d.transposed(permutation);
    EXPECT_TRUE(isValid(transposed));
    forAll(d, [&](int64_t reg, int64_t lane, int64_t warp) {
      Coordinates c = d.coordinates(reg, lane, warp),
                  t = transposed.coordinates(reg, lane, warp);
      for (unsigned k = 0; k < rank; ++k)
        EXPECT_EQ(t[k], c[permutation[k]]);
    });

    Distributed joined = d.joined();
    EXPECT_TRUE(isValid(joined));
    forAll(joined, [&](int64_t reg, int64_t lane, int64_t warp) {
      Coordinates c = d.coordinates(reg / 2, lane, warp);
      c.push_back(reg % 2);
      EXPECT_EQ(joined.coordinates(reg, lane, warp), c);
    });
    auto half = joined.split();
    ASSERT_TRUE(bool(half)) << half.error().str();
    EXPECT_EQ(*half, d.withoutRegisterCopies());
  }
}

int64_t linear(const std::vector<int64_t> &shape, const Coordinates &c) {
  int64_t index = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    index = index * shape[d] + c[d];
  return index;
}

Coordinates plus(Coordinates x, const Coordinates &y) {
  for (size_t k = 0; k < x.size(); ++k)
    x[k] += y[k];
  return x;
}

/// Whether values 0, 1, .. of a list, given by where they are, are digits.
bool hasDigits(std::vector<Coordinates> values) {
  while (values.size() > 1) {
    size_t e = 1;
    Coordinates next = values[1];
    while (e < values.size() && values[e] == next) {
      next = plus(next, values[1]);
      ++e;
    }
    if (values.size() % e)
      return false;
    std::vector<Coordinates> rest;
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] != plus(values[i % e], values[i - i % e]))
        return false;
      if (i % e == 0)
        rest.push_back(values[i]);
    }
    values = rest;
  }
  return true;
}

TEST(Distributed, ReshapesWhereTheDigitsAllowIt) {
  std::mt19937 random(10);
  int done = 0, refused = 0;
  for (int i = 0; i < 600; ++i) {
    Random r = drawValid(random, 1 + random() % 3);
    Distributed d = make(r.shape, r.registers, r.lanes, r.warps);
    std::vector<int64_t> shape = factors(d.elementCount(), random);
    shape.insert(shape.begin() + random() % (shape.size() + 1), 1);
    auto reshaped = d.reshaped(shape);
    if (reshaped) {
      ++done;
      EXPECT_TRUE(isValid(*reshaped));
      forAll(d, [&](int64_t reg, int64_t lane, int64_t warp) {
        EXPECT_EQ(linear(d.shape(), d.coordinates(reg, lane, warp)),
                  linear(shape, reshaped->coordinates(reg, lane, warp)));
      });
      EXPECT_EQ(*reshaped->reshaped(d.shape()), d);
      continue;
    }
    ++refused;
    auto moved = [&](int64_t reg, int64_t lane, int64_t warp) {
      int64_t rest = linear(d.shape(), d.coordinates(reg, lane, warp));
      Coordinates c(shape.size());
      for (size_t k = shape.size(); k-- > 0; rest /= shape[k])
        c[k] = rest % shape[k];
      return c;
    };
    // Refused: then the function under the new shape is no sum over the lists,
    // or one of the lists has no digits.
    bool possible = true;
    forAll(d, [&](int64_t reg, int64_t lane, int64_t warp) {
      possible &=
          moved(reg, lane, warp) ==
          plus(moved(reg, 0, 0), plus(moved(0, lane, 0), moved(0, 0, warp)));
    });
    std::vector<Coordinates> ofRegister, ofLane, ofWarp;
    for (int64_t k = 0; k < d.registerCount(); ++k)
      ofRegister.push_back(moved(k, 0, 0));
    for (int64_t k = 0; k < 32; ++k)
      ofLane.push_back(moved(0, k, 0));
    for (int64_t k = 0; k < d.warpCount(); ++k)
      ofWarp.push_back(moved(0, 0, k));
    possible &= hasDigits(ofRegister) && hasDigits(ofLane) && hasDigits(ofWarp);
    EXPECT_FALSE(possible) << d.str() << ": " << reshaped.error().str();
  }
  EXPECT_GT(done, 100);
  EXPECT_GT(refused, 20);
  Distributed six = make({192}, {{6, {1}}}, {{32, {6}}}, {});
  EXPECT_EQ(six.reshaped({64, 3})->str(),
            "register = [3:(0,1), 2:(1,0)], lane = [32:(2,0)], warp = []");
  EXPECT_EQ(six.reshaped({48, 4}).error().str(),
            "digit `6:(1)` of the elements in row-major order crosses a "
            "boundary of dimension 1 of the new shape");
  EXPECT_FALSE(bool(six.reshaped({8, 6, 4})));
  Distributed three = make({96}, {{3, {1}}}, {{32, {3}}}, {});
  EXPECT_FALSE(bool(three.reshaped({24, 4})));
  EXPECT_FALSE(bool(three.reshaped({12, 4, 2})));
  Distributed flat = make({64}, {{2, {1}}}, {{32, {2}}}, {});
  EXPECT_EQ(flat.reshaped({8, 8})->str(),
            "register = [2:(0,1)], lane = [4:(0,2), 8:(1,0)], warp = []");
  EXPECT_EQ(flat.reshaped({8, 7}).error().str(),
            "the new shape has 56 elements, expected 64");
}

} // namespace
