// SPDX-License-Identifier: Apache-2.0
//
// Reads the masks that a program applies to scores, as a choice,
//
//     select(mask, scores, -inf)        select(hide, -inf, scores)
//
// or by adding a bias that is 0 or very negative,
//
//     scores + select(mask, 0, -1e9)        scores + (1 - cast(mask)) * -1e9
//
// the latter perhaps on scores * cast(mask),
//
// and takes conjunctions apart: what is left is a list of elementary masks, the
// conjunction of which is the mask; each may say what to hide instead. A
// constant counts as very negative from -1e4 down: f16 has no smaller power of
// ten, and exp(-1e4) is 0 in every type.
#ifndef ACT_PASSES_ACT_SCOREMASK_H
#define ACT_PASSES_ACT_SCOREMASK_H
#include "passes/act/AxisView.h"

namespace act {

/// The value of a tensor whose elements are all the same constant.
std::optional<double> splatValue(mlir::Value value);

/// `op` as a product of `input`, which has the result's shape, with a constant
/// that is finite and not 0.
struct ConstantFactor {
  double factor;
  mlir::Value input;
};
std::optional<ConstantFactor> constantFactor(mlir::Operation *op);

/// Whether `value` is computed from a constant large enough to hide a score.
bool mayHide(mlir::Value value);

/// A mask that is no conjunction, negation or view.
struct ElementaryMask {
  AxisView view;
  bool hides = false; // true where the score is hidden
};

class ScoreMask {
public:
  explicit ScoreMask(AxisSpace &space) : space(space) {}

  /// If `op`, whose result's dimensions are `dims`, masks scores and does
  /// nothing else: records its masks and returns the scores. `post` is the
  /// factor by which the result is multiplied before the softmax.
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
