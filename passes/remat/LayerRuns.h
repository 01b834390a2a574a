// SPDX-License-Identifier: Apache-2.0
//
// Writes a repeated layer as several runs, each with its own choice of what it
// keeps for backward:
//
//   before   act.repeat @layer.fwd count(6) ... act.repeat @layer.bwd count(6)
//
//   after    act.repeat @layer.fwd.plain count(2)     segment: keeps its input
//            act.repeat @layer.fwd.1 count(3)         recomputes some ops
//            act.repeat @layer.fwd count(1)           recomputes nothing
//            ...                                      backward, in reverse:
//            act.repeat @layer.bwd count(1)
//            act.repeat @layer.bwd.1 count(3)
//            act.repeat @layer.fwd count(1)           the segment again, up to
//            act.repeat @layer.bwd.recompute count(1) its last layer, which
//            act.repeat @layer.bwd count(1)           recomputes for itself
#ifndef ACT_PASSES_REMAT_LAYERRUNS_H
#define ACT_PASSES_REMAT_LAYERRUNS_H
#include "mlir/IR/SymbolTable.h"
#include "passes/remat/SavedValues.h"
#include "llvm/ADT/BitVector.h"

namespace act {

/// Ops of a function's body that run again in backward, by their place in it.
using OpSet = llvm::BitVector;

struct LayerRun {
  int64_t layers = 1;
  /// One bit per op of the body, then one bit per value (numberedValues): the
  /// ops that run again, and the values moved to the host if they are saved.
  OpSet recompute; // empty: none
  /// Keep only the input of the run. In backward all layers but the last run
  /// again and save what the choice `recompute` saves; the last one runs again
  /// inside its own backward function.
  bool segment = false;
};

/// Replaces the two repeats of `pair` with `runs`, given in forward order from
/// its first layer. If they cover fewer layers, the program is smaller; that
/// serves measuring.
llvm::LogicalResult writeRuns(SavedPair pair, llvm::ArrayRef<LayerRun> runs,
                              mlir::SymbolTable &symbols);

/// The values that `set` moves.
llvm::SmallVector<mlir::Value> valuesOf(mlir::Block &body, const OpSet &set);

/// The first bit for ops of @grad's own body that run apart (recomputeAcross):
/// one per op, after the bits for values.
unsigned apartBegin(mlir::Block &body);

/// Every op of the body except its terminator.
OpSet allOps(mlir::Block &body);

} // namespace act
#endif
