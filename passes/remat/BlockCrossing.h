// SPDX-License-Identifier: Apache-2.0
//
// What a body keeps for later, as the graph that act/Remat/Crossing.h cuts. The
// bytes and lifetimes of kernels are not considered here.
#ifndef ACT_PASSES_REMAT_BLOCKCROSSING_H
#define ACT_PASSES_REMAT_BLOCKCROSSING_H
#include "act/Remat/Crossing.h"
#include "passes/memory/OpCost.h"
#include "passes/remat/LayerRuns.h"

namespace act {

/// The values made in `body` before `end` and needed after it, as a crossing
/// (act/Remat/Crossing.h).
struct BlockCrossing {
  remat::CrossingGraph graph;
  std::vector<unsigned> places;  // of makers, in the body
  std::vector<unsigned> numbers; // of values, among numberedValues(body)
  /// The ops that a choice runs again and the values it moves
  /// (LayerRun::recompute).
  OpSet set(const remat::Crossing &choice) const;
  OpSet set(const std::vector<char> &makers) const;
  /// The values saved if `set` runs again, in order.
  std::vector<int32_t> saved(const OpSet &set) const;
  unsigned bodySize = 0, setSize = 0; // ops; bits of a set
};

/// `shared` values are in memory anyway. With `statisticsStay`, results after
/// an op's first cannot be recomputed, except RopeTableOp's.
BlockCrossing crossingOf(mlir::Block &body, mlir::Operation *end,
                         llvm::ArrayRef<mlir::Value> needed,
                         mlir::ValueRange shared, bool statisticsStay,
                         const Rates &rates);

} // namespace act
#endif
