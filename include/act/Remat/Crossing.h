// SPDX-License-Identifier: Apache-2.0
//
// What to keep across one moment of a program. A value that is needed later is
// either kept, which takes its bytes at that moment, or recomputed, which costs
// a run of its maker and needs the values that this reads, which in turn are
// kept or recomputed.
//
//   made before            the moment            needed after
//   x --> norm --> n --> product --> p              n, p
//
//   keep n and p      bytes n + p   cost 0
//   keep x and p      bytes x + p   cost of the norm
//   keep x            bytes x       cost of the norm and the product
//
// With a price per byte, the choice is a minimum cut (project selection;
// Picard, Management Science 1976), so the cheapest choice for each price is
// found exactly, in integers. The choices over all prices form the frontier:
// the corners of the lower convex hull of cost over bytes. No choice is below
// the line that joins two corners, which bounds the cost of any choice with a
// given number of bytes.
//
// A value may also be kept elsewhere, at a cost of its own and no bytes. Its
// price is then the smaller of the two.
//
// This looks at one moment only and ignores what recomputation needs while it
// runs. So its costs are lower bounds for whole programs, and its choices are
// candidates for them.
#ifndef ACT_REMAT_CROSSING_H
#define ACT_REMAT_CROSSING_H
#include "act/Result.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace act::remat {

struct CrossingGraph {
  struct Value {
    int64_t bytes = 0;
    int32_t maker = -1;  // -1: cannot be made again
    bool needed = false; // after the moment
    int64_t move = -1;   // cost of keeping it elsewhere; -1: not possible
  };
  struct Maker {
    int64_t cost = 0; // of one run, in any unit
    std::vector<int32_t> reads;
  };
  std::vector<Value> values;
  std::vector<Maker> makers;

  /// Fails unless indices are in range, nothing is negative, makers read only
  /// values of makers with smaller numbers, and the sums of bytes and of costs
  /// are below 2^60.
  Status check() const;
};

/// What is kept and what is recomputed. No value of a maker that runs again is
/// kept.
struct Crossing {
  int64_t bytes = 0, cost = 0;
  std::vector<char> again; // by maker: runs again
  std::vector<char> kept;  // by value
  std::vector<char> moved; // by value: kept elsewhere, which takes no bytes
};

/// The corners, from the one of cost 0 to the one that keeps the fewest bytes.
/// Requires check().
std::vector<Crossing> frontier(const CrossingGraph &graph);

/// A lower bound on the cost of any choice that keeps at most `bytes`; nothing
/// if no choice keeps so little. Requires check().
std::optional<int64_t> leastCost(const CrossingGraph &graph, int64_t bytes);

} // namespace act::remat
#endif
