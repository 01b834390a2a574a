// SPDX-License-Identifier: Apache-2.0
//
// Recognises softmax(Q K^T) V around a softmax.
//
// The softmax's axis says which index counts keys. From there the matcher walks
// back through what may stand between the product of Q and K and the softmax
// (factors, softcap, masks, a bias, casts, views), forward through what may
// stand between the softmax and the product with V (casts, dropout, views), and
// then behind Q, K and V through views and factors. Each dimension on the way
// is a list of axes (AxisView.h), so that spelling does not matter: at the end
// it is only asked which axes every value depends on.
//
//   queries    rows of the scores                     in Q
//   keys       the softmax's axis                     in K and V
//   depth      contracted by Q K^T
//   batch      leading; in Q, K, V, masks
//   heads      leading; those that K and V lack are the ones that a key and
//              value head is repeated for, and count innermost
//
// A sum of scores and something that is no mask is a bias, unless it has
// constants as large as those that masks hide with: it might be a mask that is
// not understood.
//
// Nothing is changed until all of it is known.
#ifndef ACT_PASSES_ACT_FUSEATTENTIONMATCH_H
#define ACT_PASSES_ACT_FUSEATTENTIONMATCH_H
#include "passes/act/ScoreMask.h"

namespace act {

/// A value that is one of Q, K and V but for views, factors and exact casts.
struct AttentionOperand {
  AxisView view;
  /// Values on the way that are equal to `view` but for views.
  llvm::SmallVector<AxisView> aliases;
  /// The product of the factors on the way.
  double factor = 1;
  /// If there: `view.value` is to be rotated as this op does, which is applied
  /// to a transpose or multiple of it in the program.
  RopeOp rope;
  /// The op is `heads_first` and `view` is not.
  bool ropeMoves = false;
};

struct AttentionMatch {
  SoftmaxOp softmax;
  MatmulOp scores, output;
  AxisSpace space;
  AttentionOperand q, k, v;
  /// Masks that are values: of keys, or of queries and keys.
  llvm::SmallVector<ElementaryMask> masks;
  mlir::Value cuSeqlens;
  bool causal = false, topLeft = false;
  std::optional<int64_t> window;
  double scale = 1;
  std::optional<double> softcap;
  /// What is added to the scores, times the factor. No value: nothing.
  AxisView bias;
  double biasFactor = 1;
  DropoutOp dropout;

  Axes batch, heads, kvHeads, queries, keys, depth, valueDepth;
  /// The output, after views that follow it, and the axes of its dimensions.
  mlir::Value result;
  llvm::SmallVector<Axes, 4> resultDims;
};

/// Why a softmax is left alone, and the op that is in the way.
struct AttentionMiss {
  mlir::Operation *at = nullptr;
  std::string why;
};

/// The attention around `softmax`, or none, and `miss` then says why.
std::optional<AttentionMatch> matchAttention(SoftmaxOp softmax,
                                             AttentionMiss &miss);

} // namespace act
#endif
