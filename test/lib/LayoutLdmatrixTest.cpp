// SPDX-License-Identifier: Apache-2.0
#include "act/Layout/Blocked.h"
#include "act/Layout/Ldmatrix.h"
#include "act/Layout/Shared.h"
#include "test/lib/MmaOperands.h"
#include <gtest/gtest.h>

using namespace act;
using namespace act::layout;

namespace {

template <typename T> T get(const Result<T> &r) {
  EXPECT_TRUE(bool(r)) << r.error().str();
  return *r;
}

/// Executes the instructions, by the words of the PTX ISA, on a shared memory
/// that knows which element each byte is of. Counts wavefronts on the way.
void execute(const Distributed &layout, int64_t width, bool trans,
             const Shared &shared) {
  Ldmatrix plan = get(Ldmatrix::get(layout, width));
  EXPECT_EQ(plan.trans, trans);
  EXPECT_EQ(int64_t(plan.firstRegisters.size()) * plan.matrices * plan.packed,
            layout.registerCount());
  std::vector<Coordinates> elementAt(shared.size());
  for (int64_t r = 0; r < layout.shape()[0]; ++r)
    for (int64_t c = 0; c < layout.shape()[1]; ++c)
      elementAt[shared.offset(0, r, c)] = {r, c};

  // One address to a thread, constants for its instructions (even panels).
  std::vector<Place> threads, constants;
  for (int64_t warp = 0; warp < layout.warpCount(); ++warp)
    for (int64_t lane = 0; lane < 32; ++lane)
      threads.push_back(plan.pointer(layout, 0, lane, warp));
  for (size_t i = 0; i < plan.firstRegisters.size(); ++i)
    constants.push_back(plan.pointer(layout, i, 0, 0));
  if (shared.panels().front().bytes == shared.panels().back().bytes) {
    EXPECT_TRUE(shared.deltas(threads, constants).has_value());
  }

  for (int64_t warp = 0; warp < layout.warpCount(); ++warp) {
    std::vector<std::vector<Coordinates>> got(
        32, std::vector<Coordinates>(layout.registerCount()));
    for (size_t i = 0; i < plan.firstRegisters.size(); ++i)
      for (int64_t m = 0; m < plan.matrices; ++m) {
        std::vector<int64_t> rows;
        for (int64_t r = 0; r < 8; ++r) {
          auto p = plan.pointer(layout, i, m * 8 + r, warp);
          rows.push_back(shared.offset(0, p[0], p[1]));
          EXPECT_EQ(rows.back() % 16, 0);
        }
        EXPECT_EQ(wavefronts(rows, 16), 1);
        for (int64_t lane = 0; lane < 32; ++lane)
          for (int64_t e = 0; e < plan.packed; ++e) {
            int64_t byte = trans ? rows[lane % 4 * 2 + e] + lane / 4 * 2
                                 : rows[lane / 4] + lane % 4 * 4 + e * width;
            Coordinates &into = got[lane].at(plan.registerOf(i, m) + e);
            EXPECT_TRUE(into.empty());
            into = elementAt.at(byte);
          }
      }
    for (int64_t lane = 0; lane < 32; ++lane)
      for (int64_t r = 0; r < layout.registerCount(); ++r)
        ASSERT_EQ(got[lane][r], layout.coordinates(r, lane, warp));
  }
}

TEST(Ldmatrix, ReadsOperandsHoweverTheyAreStored) {
  for (int64_t k : {16, 32, 48, 64, 80, 96, 112, 128, 256})
    for (int64_t n : {16, 24, 64, 80}) {
      Distributed a = get(mmaOperandA({64, k}, 4, 1, 16));
      execute(a, 2, false, get(Shared::evenly({64, k}, 2)));
      execute(a.transposed({1, 0}), 2, true, get(Shared::evenly({k, 64}, 2)));
      Distributed b = get(mmaOperandB({k, n}, 4, 1, 16));
      execute(b, 2, true, get(Shared::evenly({k, n}, 2)));
      execute(b.transposed({1, 0}), 2, false, get(Shared::evenly({n, k}, 2)));
      execute(b, 2, true, get(Shared::fewest({k, n}, 2)));
      if (k % 32 == 0) {
        execute(get(mmaOperandA({64, k}, 2, 2, 8)), 1, false,
                get(Shared::evenly({64, k}, 1)));
        execute(get(mmaOperandB({k, n}, 4, 1, 8)).transposed({1, 0}), 1, false,
                get(Shared::evenly({n, k}, 1)));
      }
      execute(get(mmaOperandB({k, n}, 4, 1, 32)).transposed({1, 0}), 4, false,
              get(Shared::evenly({n, k}, 4)));
    }
}

TEST(Ldmatrix, ReadsFourMatricesWhereThereAreFour) {
  Distributed b = get(mmaOperandB({80, 64}, 4, 1, 16));
  Ldmatrix plan = get(Ldmatrix::get(b, 2));
  EXPECT_EQ(plan.matrices, 4);
  EXPECT_EQ(plan.firstRegisters.size(), 20u);
  EXPECT_EQ(plan.laneStrides[3], (std::array<int64_t, 2>{8, 0}));
  EXPECT_EQ(plan.laneStrides[4], (std::array<int64_t, 2>{0, 8}));
  EXPECT_EQ(
      get(Ldmatrix::get(get(mmaOperandB({16, 24}, 4, 1, 16)), 2)).matrices, 2);
  // The accumulator of 8-bit operands' width is no matrix of bytes.
  auto refusal = [](const Result<Ldmatrix> &r) {
    return r ? std::string("accepted") : r.error().str();
  };
  Distributed c = get(mmaAccumulator({64, 64}, 4, 1));
  EXPECT_EQ(refusal(Ldmatrix::get(c, 1)),
            "lanes do not hold matrices of 8 rows of 16 bytes: " + c.str());
  EXPECT_NE(refusal(Ldmatrix::get(get(blocked({64, 64}, 8, 4)), 2)),
            "accepted");
  // .trans is for 16 bits only.
  EXPECT_NE(refusal(Ldmatrix::get(get(mmaOperandB({64, 64}, 4, 1, 8)), 1)),
            "accepted");
  EXPECT_EQ(refusal(Ldmatrix::get(c.dropped(0), 2)),
            "ldmatrix reads blocks of 2 dimensions, found 1");
  EXPECT_EQ(refusal(Ldmatrix::get(c, 8)),
            "ldmatrix reads elements of 1, 2 or 4 bytes, found 8");
}

} // namespace
