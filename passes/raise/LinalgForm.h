// SPDX-License-Identifier: Apache-2.0
//
// What a linalg.generic computes, if it is one of three forms: one scalar op on
// each element, a reduction, or a product. Named ops are generalised before.
#ifndef ACT_PASSES_RAISE_LINALGFORM_H
#define ACT_PASSES_RAISE_LINALGFORM_H
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <optional>

namespace act {

inline mlir::RankedTensorType typeOf(mlir::Value tensor) {
  return mlir::cast<mlir::RankedTensorType>(tensor.getType());
}

/// A tensor as an op reads it. Its dimension i is dimension dims[i] of the op's
/// iterations. Without one, it has size 1.
struct Read {
  mlir::Value value;
  llvm::SmallVector<std::optional<unsigned>> dims;

  /// The dimensions of iterations that it has, in its order.
  llvm::SmallVector<unsigned> present() const;
  bool isIdentity(unsigned rank) const;
};

/// The same elements of an earlier tensor, behind transposes, broadcasts and
/// dimensions of size 1.
Read lookThrough(Read read);

/// One scalar op on each element: the result is f(inputs) at each iteration.
struct Elementwise {
  mlir::Operation *scalar = nullptr; ///< null: the input is passed on
  struct Input {
    std::optional<Read> read; ///< otherwise a constant
    mlir::TypedAttr constant;
  };
  llvm::SmallVector<Input> inputs; ///< the operands of the scalar op
};
std::optional<Elementwise> elementwiseOf(mlir::Operation *op);

/// A sum, a maximum or a conjunction of one tensor along some of its
/// dimensions.
struct ReductionForm {
  enum Kind { Sum, Max, All } kind;
  mlir::Value input;
  llvm::SmallVector<unsigned> along;
};
std::optional<ReductionForm> reductionOf(mlir::Operation *op);

/// The input where its dimensions are the op's iterations; else null.
mlir::Value readWhole(const Elementwise::Input &input, unsigned rank);
/// The number that an input is; a tensor of one number is that number.
std::optional<double> numberIn(const Elementwise::Input &input);
/// The scalar op that makes the whole of an input, if it is of this kind.
template <typename Op>
std::optional<Elementwise> madeBy(const Elementwise::Input &input,
                                  unsigned rank) {
  mlir::Value v = readWhole(input, rank);
  auto form = v ? elementwiseOf(v.getDefiningOp()) : std::nullopt;
  return form && mlir::isa_and_present<Op>(form->scalar) ? form : std::nullopt;
}

/// The number of a constant, as a double.
std::optional<double> numberOf(mlir::TypedAttr constant);
/// The number that each element of a tensor has, if `fill` made it.
std::optional<double> filledWith(mlir::Value tensor);

} // namespace act
#endif
