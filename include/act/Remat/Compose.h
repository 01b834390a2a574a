// SPDX-License-Identifier: Apache-2.0
//
// Chooses how to run each layer of a stack under a budget of bytes. Each layer
// has several ways, which keep more or recompute more.
//
//   bytes   budget - - - - - - - - - - - - - -
//                        __|working of layer 2
//                  __|__|                          forward goes up, backward
//            __|__|saved by layers 0, 1            comes back down
//           |___________________ position
//             0   1   2
//
// At its position a unit needs what the units before it have saved, plus its
// own working bytes, which include what it saves. The order matters: units go
// by descending working - saved. (Swapping neighbours that are in this order
// never lowers the peak.) So only the number of units of each kind is open.
// That is a knapsack problem. It is solved exactly, in integers, by its
// undominated partial sums; a bound from the linear relaxation drops most of
// them.
//
// Example: budget 10, four layers. A: saved 3, working 3, cost 0. B: saved 1,
// working 4, cost 5. B A A A needs 1+3+3+3 = 10.
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
  /// Bytes needed after the chain, before the next chain or backward begins, in
  /// addition to what it and the chains before it have saved.
  int64_t behind = 0;
};

struct StackProblem {
  std::vector<LayerChain> chains; // in forward's order
  int64_t apart = 0; // peak bytes while the chains have nothing saved
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
/// At most `states` partial sums are kept per number of layers; if that is too
/// few, `complete` is false.
Stack compose(const StackProblem &problem, int64_t budget,
              int64_t states = 4000, int64_t limit = mostCost);

/// The smallest budget for which there is a stack; -1 if the choices cannot add
/// up to the layers of a chain.
int64_t leastBudget(const StackProblem &problem);

/// The peak of a stack, computed from the definition.
int64_t peakOf(const StackProblem &problem, const Stack &stack);

} // namespace act::remat
#endif
