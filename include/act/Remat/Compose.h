// SPDX-License-Identifier: Apache-2.0
//
// A stack of layers, each of which can be run in several ways that keep more or
// recompute more, under a budget of bytes.
//
//   bytes   budget - - - - - - - - - - - - - -
//                        __|working of layer 2
//                  __|__|                          forward goes up, backward
//            __|__|saved by layers 0, 1            comes back down
//           |___________________ position
//             0   1   2
//
// A unit at a place needs what the units before it have saved, and its own
// working bytes, which include what it saves. Which unit is first matters:
// those whose working bytes exceed most what stays of them go first
// (descending working - saved; exchanging two neighbours that are not in that
// order never lowers the peak), so that only how many there are of each is to
// be decided. That is a knapsack, solved here exactly by its undominated
// partial sums, in integers, with a bound from the linear relaxation to drop
// most.
//
// Example: budget 10, four layers; A saves 3 and works with 3 for nothing, B
// saves 1 and works with 4 for a cost of 5. B A A A needs 1+3+3+3 = 10.
#ifndef ACT_REMAT_COMPOSE_H
#define ACT_REMAT_COMPOSE_H
#include <cstdint>
#include <vector>

namespace act::remat {

/// A way to run `layers` layers.
struct UnitChoice {
  int64_t cost = 0, saved = 0, working = 0;
  int64_t layers = 1;
};

/// Layers that follow each other and have the same choices.
struct LayerChain {
  int64_t layers = 0;
  std::vector<UnitChoice> choices;
  /// What is needed behind the chain, before the next one begins or backward
  /// does, beside what it and those before it have saved.
  int64_t behind = 0;
};

struct StackProblem {
  std::vector<LayerChain> chains; // in forward's order
  int64_t apart = 0; // bytes at moments when nothing of the chains is saved
};

struct UnitRun {
  int32_t choice = 0;
  int64_t units = 0;
};

struct Stack {
  bool found = false;
  bool complete = false; // nothing cheaper exists
  int64_t cost = 0, peak = 0;
  std::vector<std::vector<UnitRun>> chains; // by chain, in forward's order
};

inline constexpr int64_t mostCost = int64_t(1) << 61;

/// The cheapest stack of at most `budget` bytes that costs less than `limit`.
/// No more than `states` partial sums are kept for a number of layers; when
/// that is too few, `complete` is false.
Stack compose(const StackProblem &problem, int64_t budget,
              int64_t states = 4000, int64_t limit = mostCost);

/// The least budget under which there is a stack; -1 if choices cannot make up
/// the layers of a chain.
int64_t leastBudget(const StackProblem &problem);

/// The peak of a stack, by its definition.
int64_t peakOf(const StackProblem &problem, const Stack &stack);

} // namespace act::remat
#endif
