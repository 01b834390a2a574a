// SPDX-License-Identifier: Apache-2.0
//
// A repeated layer written as several runs, each with its own choice of what is
// kept for backward:
//
//   before   act.repeat @layer.fwd count(6)   ...  act.repeat @layer.bwd
//   count(6) after    act.repeat @layer.fwd.plain count(2)    a segment: keeps
//   its input
//            act.repeat @layer.fwd.1 count(3)        recomputes some ops
//            act.repeat @layer.fwd count(1)          recomputes nothing
//            ...
//            act.repeat @layer.bwd count(1)          backward, in the opposite
//            order act.repeat @layer.bwd.1 count(3) act.repeat @layer.fwd
//            count(1)          the segment again, up to its act.repeat
//            @layer.bwd.recompute count(1)  last layer, which act.repeat
//            @layer.bwd count(1)            recomputes for itself
#ifndef ACT_PASSES_ACT_LAYERRUNS_H
#define ACT_PASSES_ACT_LAYERRUNS_H
#include "mlir/IR/SymbolTable.h"
#include "passes/act/SavedValues.h"
#include "llvm/ADT/BitVector.h"

namespace act {

/// Ops of a function's body that run again in backward, by their place in it.
using OpSet = llvm::BitVector;

struct LayerRun {
  int64_t layers = 1;
  /// Ops, by their place; behind as many bits as there are ops, values that
  /// are moved to the host if they are saved, by their number (numberedValues).
  OpSet recompute; // empty: none
  /// Only the input of the run is kept. In backward all layers but the last run
  /// again and save what the choice `recompute` saves; the last one runs again
  /// inside its own backward function.
  bool segment = false;
};

/// Replaces the two repeats of `pair` by `runs`, in forward's order. They begin
/// at its first layer; fewer layers than it has make a smaller program, for
/// measuring.
llvm::LogicalResult writeRuns(SavedPair pair, llvm::ArrayRef<LayerRun> runs,
                              mlir::SymbolTable &symbols);

/// The values that `set` moves.
llvm::SmallVector<mlir::Value> valuesOf(mlir::Block &body, const OpSet &set);

/// Ops of @grad's own body that run apart (recomputeAcross): the bits behind
/// those of values, as many as there are ops.
unsigned apartBegin(mlir::Block &body);

/// Every op of the body but its terminator.
OpSet allOps(mlir::Block &body);

} // namespace act
#endif
