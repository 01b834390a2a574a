// SPDX-License-Identifier: Apache-2.0
//
// Recognises softmax(Q K^T) V around a softmax.
//
// The softmax's axis is the key axis. From there the matcher walks
// - back to the product of Q and K through factors, softcap, masks, a bias,
//   casts and views,
// - forward to the product with V through casts, dropout and views,
// - then back from Q, K and V through views and factors.
// Each dimension on the way is a list of axes (AxisView.h), so the spelling of
// the program does not matter: the result depends only on the axes of each
// value.
//
//   queries    rows of the scores                     in Q
//   keys       the softmax's axis                     in K and V
//   depth      contracted by Q K^T
//   batch      leading; in Q, K, V, masks
//   heads      leading; axes that K and V lack are the query heads that share
//              one key and value head, and count innermost
//
// Something added to the scores that is not a mask is a bias, unless it
// contains constants as large as those that masks use: then it may be a mask
// that the matcher does not understand.
//
// The matcher changes nothing until it has the whole match.
#ifndef ACT_PASSES_FUSE_FUSEATTENTIONMATCH_H
#define ACT_PASSES_FUSE_FUSEATTENTIONMATCH_H
#include "passes/fuse/ScoreMask.h"

namespace act {

/// The value behind Q, K or V, with views, factors and exact casts removed.
struct AttentionOperand {
  AxisView view;
  /// Values on the way that differ from `view` only by views.
  llvm::SmallVector<AxisView> aliases;
  /// The product of the factors on the way.
  double factor = 1;
  /// If set, the rotation to apply to `view.value`. The program applies it to a
  /// transpose or a multiple of that value.
  RopeOp rope;
  /// `rope` is `heads_first` and `view` is not.
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
  /// Added to the scores after multiplication by the factor. No value: no bias.
  AxisView bias;
  double biasFactor = 1;
  DropoutOp dropout;

  Axes batch, heads, kvHeads, queries, keys, depth, valueDepth;
  /// The output, after views that follow it, and the axes of its dimensions.
  mlir::Value result;
  llvm::SmallVector<Axes, 4> resultDims;
};

/// Why a softmax is not fused, and the op that prevents it.
struct AttentionMiss {
  mlir::Operation *at = nullptr;
  std::string why;
};

/// Whether only ops allowed between a product and its softmax lie between
/// `value` and a product, so that it is the scores of one attention.
bool comesFromProduct(mlir::Value value);

/// The attention around `softmax`; if there is no match, `miss` says why.
std::optional<AttentionMatch> matchAttention(SoftmaxOp softmax,
                                             AttentionMiss &miss);

} // namespace act
#endif
