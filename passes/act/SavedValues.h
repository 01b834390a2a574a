// SPDX-License-Identifier: Apache-2.0
//
// The values that differentiation saves, and how to recompute some instead.
//
// In a differentiated module a layer's saved values are the stacked results of
// the forward repeat, and operands of the backward repeat:
//
//   %y, %s:2 = act.repeat @layer.fwd ... carry(%x)
//   %dx      = act.repeat @layer.bwd ... carry(%dy) stack(%s#0, %s#1)
#ifndef ACT_PASSES_ACT_SAVEDVALUES_H
#define ACT_PASSES_ACT_SAVEDVALUES_H
#include "dialects/act/Types.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace act {

struct SavedPair {
  RepeatOp forward, backward;
};

/// The forward repeats of `grad` with the backward repeats that take their
/// stacks. An error where stacks are used in another way, as differentiation
/// does not write it but a person may: what is saved cannot be changed there.
mlir::FailureOr<llvm::SmallVector<SavedPair>>
findSavedPairs(mlir::func::FuncOp grad);

/// Changes what one pair of layer functions saves.
class LayerRewriter {
public:
  /// With `rewriteCalls` the two repeats follow the functions' new signatures;
  /// without, only the functions change.
  LayerRewriter(SavedPair &pair, mlir::func::FuncOp forward,
                mlir::func::FuncOp backward, bool rewriteCalls = true);

  /// The values of the forward function that are saved now, in stack order.
  llvm::SmallVector<mlir::Value> savedValues();

  /// Stops saving what `ops` of the forward function produce and runs copies
  /// of them in the backward function, each just before its first use. Values
  /// that the copies read and that are no result of `ops` are saved instead.
  /// With `keepStatistics`, results after an op's first stay saved.
  void recompute(const llvm::DenseSet<mlir::Operation *> &ops,
                 bool keepStatistics);

  /// Moves those of the saved values that are in `values` to the host when
  /// forward is done with them, and back before backward first reads them.
  /// After recompute(), if that is called.
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

/// Recomputes `ops`, which stand before `boundary`, for their users behind it.
///
/// Those that are in `apart`, too, run for each of them alone: for every other
/// op of `ops` that runs again, and once for what stands behind the boundary.
/// So what lies between two others is needed for no longer than it takes to
/// have the later one, and is made once more when its turn comes:
///
///     apart: f, g      ... x -> f -> g -> y -> f -> g -> z    x is kept
///     behind:          x f g y, f g for z's users, f g for y's
void recomputeAcross(mlir::Operation *boundary,
                     const llvm::DenseSet<mlir::Operation *> &ops,
                     const llvm::DenseSet<mlir::Operation *> &apart = {});

/// Moves `values`, made before `boundary`, to the host when what stands before
/// it is done with them, and back before they are first read behind it.
void offloadAcross(mlir::Operation *boundary,
                   llvm::ArrayRef<mlir::Value> values);

/// The arguments of a block and the results of its ops, in order: a value's
/// number is its index.
llvm::SmallVector<mlir::Value> numberedValues(mlir::Block &block);

/// Erases ops without effects whose results nobody uses.
void eraseDead(mlir::Block &block);

} // namespace act
#endif
