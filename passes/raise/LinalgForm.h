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

/// All of a tensor, at iterations of its own shape.
Read wholeRead(mlir::Value tensor);
/// The map's results as dimensions, or as the only index of a dimension of size
/// 1. None for other expressions.
std::optional<Read> readBy(mlir::AffineMap map, mlir::Value v);
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
/// dimensions. A sum may be of integers.
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

/// A value as an op reads it, behind transposes, broadcasts and dimensions of
/// size 1, and the scalar op that makes it. A chain of terms has the dimensions
/// of the iterations of the op that it began at.
struct Term {
  Read read;
  std::optional<Elementwise> form;

  static std::optional<Term> of(const std::optional<Read> &read);
  /// The result of an op, at its iterations.
  static Term of(mlir::linalg::GenericOp op);
  template <typename... Ops> bool is() const {
    return form && mlir::isa_and_present<Ops...>(form->scalar);
  }
  mlir::Operation *op() const { return read.value.getDefiningOp(); }
  /// What the scalar op has as its operand i.
  std::optional<Term> input(unsigned i) const;
  /// The operand, if it is a number.
  std::optional<double> number(unsigned i) const;
  /// If the op has two operands and one is a number: the other operand, and the
  /// number.
  std::optional<std::pair<Term, double>> withNumber() const;
  /// The dimensions that it has, if they are in order, without those of size 1.
  std::optional<llvm::SmallVector<unsigned>> ordered() const;
  /// Behind casts to wider types of floats and back, and of integers.
  Term behindCasts() const;
};

inline bool operator==(const Term &a, const Term &b) {
  return a.read.value == b.read.value && a.read.dims == b.read.dims;
}
/// x, if the term is x to the power of n, which is 2 or 3: as a power or as
/// products.
std::optional<Term> baseOfPower(const Term &term, unsigned n);
/// The tensor that was cast to this wider type, or itself.
mlir::Value narrowest(mlir::Value tensor);

/// A number in another type: a boolean says whether it is another one than 0.
mlir::Value castScalar(mlir::OpBuilder &b, mlir::Location loc, mlir::Value v,
                       mlir::Type to);
/// The elements in another shape, by tensor ops: one where dimensions are split
/// or merged, else two.
mlir::Value reshapedTensor(mlir::OpBuilder &b, mlir::Location loc,
                           mlir::Value v, mlir::RankedTensorType to);

/// The number of a constant, as a double.
std::optional<double> numberOf(mlir::TypedAttr constant);
/// The number that each element of a tensor has, if `fill` made it.
std::optional<double> filledWith(mlir::Value tensor);

} // namespace act
#endif
