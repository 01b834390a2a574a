// SPDX-License-Identifier: Apache-2.0
//
// One moment of a program, and what to keep across it. What is needed later is
// either kept, which takes its bytes at that moment, or made again, which takes
// the cost of its maker and needs what that reads: kept or made again, too.
//
//   made before            the moment            needed after
//   x --> norm --> n --> product --> p              n, p
//
//   keep n and p      bytes n + p   cost 0
//   keep x and p      bytes x + p   cost of the norm
//   keep x            bytes x       cost of the norm and the product
//
// Transfers of bytes into cost at a price make it a minimum cut (project
// selection; Picard, Management Science 1976), so for every price the cheapest
// choice is found exactly, in integers. Choices over all prices are the
// frontier: the corners of the lower convex hull of cost over bytes. Between
// two corners nothing is below the line that joins them, which gives a lower
// bound on the cost of any choice of so many bytes.
//
// A value may also be kept elsewhere, at a cost of its own and no bytes: then
// what it takes to have it is the lesser of the two.
//
// It looks at one moment only: it does not ask what making things again needs
// while it is done. So its costs are lower bounds for whole programs, and its
// choices are candidates for them.
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

  /// Indices in range, nothing negative, what a maker reads made by makers of
  /// smaller numbers, sums of bytes and of costs below 2^60.
  Status check() const;
};

/// What is kept and what is made again. A value of a maker that runs again is
/// not kept.
struct Crossing {
  int64_t bytes = 0, cost = 0;
  std::vector<char> again; // by maker
  std::vector<char> kept;  // by value
  std::vector<char> moved; // by value: kept elsewhere, which takes no bytes
};

/// The corners, from the one that costs nothing to the one that keeps least.
/// Requires check().
std::vector<Crossing> frontier(const CrossingGraph &graph);

/// No choice that keeps at most `bytes` costs less; nothing if none keeps so
/// little. Requires check().
std::optional<int64_t> leastCost(const CrossingGraph &graph, int64_t bytes);

} // namespace act::remat
#endif
