// SPDX-License-Identifier: Apache-2.0
//
// The values that differentiation saves, and rewrites that recompute some or
// move them to the host instead.
//
// In a differentiated module a layer's saved values are the stacked results of
// the forward repeat, and operands of the backward repeat:
//
//   %y, %s:2 = act.repeat @layer.fwd ... carry(%x)
//   %dx      = act.repeat @layer.bwd ... carry(%dy) stack(%s#0, %s#1)
#ifndef ACT_PASSES_REMAT_SAVEDVALUES_H
#define ACT_PASSES_REMAT_SAVEDVALUES_H
#include "dialects/act/Types.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace act {

struct SavedPair {
  RepeatOp forward, backward;
};

/// The forward repeats of `grad` with the backward repeats that take their
/// stacks. Stacks used in any other way are an error, because then what is
/// saved cannot be changed. Differentiation never writes that, but a person
/// may.
mlir::FailureOr<llvm::SmallVector<SavedPair>>
findSavedPairs(mlir::func::FuncOp grad);

/// Changes what one pair of layer functions saves.
class LayerRewriter {
public:
  /// With `rewriteCalls` the two repeats follow the functions' new signatures;
  /// without, only the functions change.
  LayerRewriter(SavedPair &pair, mlir::func::FuncOp forward,
                mlir::func::FuncOp backward, bool rewriteCalls = true);

  /// The values that the forward function currently saves, in stack order.
  llvm::SmallVector<mlir::Value> savedValues();

  /// Stops saving the results of `ops` of the forward function and runs copies
  /// of them in the backward function, each just before its first use. Saves
  /// instead what the copies read from other ops. With `keepStatistics`,
  /// results after an op's first stay saved.
  void recompute(const llvm::DenseSet<mlir::Operation *> &ops,
                 bool keepStatistics);

  /// Moves the saved values in `values` to the host after forward's last use,
  /// and back before backward first reads them. Call after recompute().
  void offload(const llvm::DenseSet<mlir::Value> &values);

private:
  void rewriteRepeats();
  mlir::Value copyOf(mlir::Value value, mlir::Operation *before);

  SavedPair &pair;
  mlir::func::FuncOp forward, backward;
  bool rewriteCalls;
  llvm::SmallVector<mlir::Value> saved;
  llvm::DenseMap<mlir::Value, mlir::Value> inBackward;
  const llvm::DenseSet<mlir::Operation *> *chosen = nullptr;
  bool keepStatistics = false;
};

/// Recomputes `ops`, which are before `boundary`, for their users after it.
///
/// Those also in `apart` run separately for each reader: for every other op of
/// `ops` that runs again, and once for the ops after the boundary. So a value
/// between two others lives only while the later one is recomputed, and is made
/// once more when it is itself needed:
///
///     apart: f, g      ... x -> f -> g -> y -> f -> g -> z    x is kept
///     behind:          x f g y, f g for z's users, f g for y's
void recomputeAcross(mlir::Operation *boundary,
                     const llvm::DenseSet<mlir::Operation *> &ops,
                     const llvm::DenseSet<mlir::Operation *> &apart = {});

/// Moves `values`, made before `boundary`, to the host after their last use
/// before it, and back before their first use after it.
void offloadAcross(mlir::Operation *boundary,
                   llvm::ArrayRef<mlir::Value> values);

/// The arguments of a block and the results of its ops, in order. A value's
/// number is its index here.
llvm::SmallVector<mlir::Value> numberedValues(mlir::Block &block);

} // namespace act
#endif
