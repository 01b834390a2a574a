// SPDX-License-Identifier: Apache-2.0
//
// Recognises the masks that a program applies to scores, as a select,
//
//     select(mask, scores, -inf)        select(hide, -inf, scores)
//
// or by adding a bias that is 0 or very negative,
//
//     scores + select(mask, 0, -1e9)        scores + (1 - cast(mask)) * -1e9
//
// the latter optionally on scores * cast(mask).
//
// It splits conjunctions into a list of elementary masks whose conjunction is
// the mask. An elementary mask may be true for what to hide instead of what to
// see. A constant counts as very negative from -1e4 down: f16 has no power of
// ten below -1e4, and exp(-1e4) is 0 in every type.
#ifndef ACT_PASSES_FUSE_SCOREMASK_H
#define ACT_PASSES_FUSE_SCOREMASK_H
#include "passes/fuse/AxisView.h"

namespace act {

/// The value of a tensor whose elements are all the same constant.
std::optional<double> splatValue(mlir::Value value);

/// `op` as the product of `input`, which has the result's shape, and a finite
/// constant other than 0.
struct ConstantFactor {
  double factor;
  mlir::Value input;
};
std::optional<ConstantFactor> constantFactor(mlir::Operation *op);

/// Whether `value` depends on a constant large enough to hide a score.
bool mayHide(mlir::Value value);

/// A mask that is not a conjunction, negation or view.
struct ElementaryMask {
  AxisView view;
  bool hides = false; // true where the score is hidden
};

class ScoreMask {
public:
  explicit ScoreMask(AxisSpace &space) : space(space) {}

  /// If `op` only masks scores, records its masks and returns the scores.
  /// `dims` are the dimensions of its result; `post` is the factor applied to
  /// the result before the softmax.
  mlir::Value add(mlir::Operation *op, llvm::ArrayRef<Axes> dims, double post);

  /// The elementary masks so far.
  llvm::ArrayRef<ElementaryMask> getMasks() const { return masks; }

private:
  bool addMask(AxisView view, bool hides);
  bool addNumber(AxisView view);
  bool addBias(AxisView view, double factor);
  mlir::Value addProduct(MulOp op, llvm::ArrayRef<Axes> dims);
  bool same(const ElementaryMask &a, const ElementaryMask &b) const;
  mlir::Value addChoice(SelectOp op, llvm::ArrayRef<Axes> dims, double factor);

  AxisSpace &space;
  llvm::SmallVector<ElementaryMask> masks;
};

} // namespace act
#endif
