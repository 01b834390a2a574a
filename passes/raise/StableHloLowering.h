// SPDX-License-Identifier: Apache-2.0
//
// How one StableHLO op becomes upstream ones. Its attributes are read as text
// and numbers, as MLIR does not have the dialect.
#ifndef ACT_PASSES_RAISE_STABLEHLOLOWERING_H
#define ACT_PASSES_RAISE_STABLEHLOLOWERING_H
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringMap.h"

namespace act::stablehlo {

/// An attribute of an op of no known dialect: of its properties, or of itself.
mlir::Attribute attributeOf(mlir::Operation *op, llvm::StringRef name);
std::optional<llvm::SmallVector<int64_t>> integersOf(mlir::Operation *op,
                                                     llvm::StringRef name);
/// Whether these are different dimensions of a tensor.
bool areDimensions(llvm::ArrayRef<int64_t> numbers, int64_t rank);
/// The integers behind `name = ` in an opaque attribute's text; none where it
/// is not named, as empty lists are not printed.
llvm::SmallVector<int64_t> integersIn(llvm::StringRef text,
                                      llvm::StringRef name);
llvm::StringRef textOf(mlir::Attribute attribute);

/// Rewrites one op.
class Lowering {
public:
  explicit Lowering(mlir::Operation *op)
      : op(op), b(op), loc(op->getLoc()), name(op->getName().getStringRef()) {
    (void)name.consume_front("stablehlo.");
  }

  /// The value that the result becomes; null if the op is not known.
  mlir::Value run();

private:
  mlir::RankedTensorType type() {
    return mlir::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  }
  mlir::Type element() { return type().getElementType(); }
  int64_t rank() { return type().getRank(); }
  mlir::AffineMap identity() { return b.getMultiDimIdentityMap(rank()); }
  mlir::Value empty(mlir::RankedTensorType type) {
    return mlir::tensor::EmptyOp::create(b, loc, type.getShape(),
                                         type.getElementType());
  }
  mlir::Value number(mlir::Type type, double value) {
    return mlir::arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  }

  using Body =
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::ValueRange)>;
  /// One scalar from one of each operand, which these maps read.
  mlir::Value map(mlir::ValueRange operands,
                  llvm::ArrayRef<mlir::AffineMap> maps, Body body) {
    llvm::SmallVector<mlir::AffineMap> all(maps);
    all.push_back(identity());
    return mlir::linalg::GenericOp::create(
               b, loc, mlir::TypeRange(type()), operands,
               mlir::ValueRange(empty(type())), all,
               llvm::SmallVector<mlir::utils::IteratorType>(
                   rank(), mlir::utils::IteratorType::parallel),
               [&](mlir::OpBuilder &inner, mlir::Location at,
                   mlir::ValueRange arguments) {
                 mlir::linalg::YieldOp::create(
                     inner, at, body(inner, arguments.drop_back()));
               })
        .getResult(0);
  }
  mlir::Value elementwise(Body body) {
    llvm::SmallVector<mlir::AffineMap> maps;
    for (mlir::Value v : op->getOperands())
      // A condition may be one for all.
      maps.push_back(
          mlir::cast<mlir::RankedTensorType>(v.getType()).getRank() || !rank()
              ? identity()
              : mlir::AffineMap::get(rank(), 0, op->getContext()));
    return map(op->getOperands(), maps, body);
  }
  template <typename Op> mlir::Value simple() {
    return elementwise(
        [&](mlir::OpBuilder &inner, mlir::ValueRange v) -> mlir::Value {
          return Op::create(inner, loc, v);
        });
  }

  template <typename Op> mlir::Value ofFloats() {
    return mlir::isa<mlir::FloatType>(element()) ? simple<Op>() : mlir::Value();
  }
  template <typename Op> mlir::Value ofBooleans() {
    return element().isInteger(1) ? simple<Op>() : mlir::Value();
  }
  /// Of floats and of integers, and of booleans if they differ.
  template <typename F, typename I, typename B = I> mlir::Value either() {
    return mlir::isa<mlir::FloatType>(element()) ? simple<F>()
           : element().isInteger(1)              ? simple<B>()
                                                 : simple<I>();
  }

  static constexpr int anyCount = -1;
  struct Rule {
    mlir::Value (Lowering::*make)();
    int operands; ///< how many; anyCount: one or more
  };
  static const llvm::StringMap<Rule> &table();
  mlir::Value logistic();
  mlir::Value concatenated();
  mlir::Value constant();
  mlir::Value broadcast();
  mlir::Value transposed();
  mlir::Value product();
  mlir::Value reduced();
  mlir::Value converted();
  mlir::Value compared();
  mlir::Value sliced();
  mlir::Value counted();
  mlir::Value reshaped();
  mlir::Value erfc();
  mlir::Value squared();
  mlir::Value clamped();
  mlir::Value signed_();
  mlir::Value isFinite();
  mlir::Value inverted();
  mlir::Value dynamicallyCounted();
  // In StableHloWindows.cpp.
  mlir::Value gathered();
  mlir::Value padded();
  mlir::Value convolved();
  mlir::Value windowReduced();
  /// The start of a reduction, as a number where it is one.
  mlir::Value scalarOf(mlir::Value tensor);
  mlir::Value paddedBy(mlir::Value v, llvm::ArrayRef<int64_t> low,
                       llvm::ArrayRef<int64_t> high, mlir::Value number);
  /// What combines two numbers in the op's region; null if it is not known.
  using Combiner = mlir::Value (*)(mlir::OpBuilder &, mlir::Location,
                                   mlir::Value, mlir::Value);
  Combiner combiner();

  mlir::Operation *op;
  mlir::OpBuilder b;
  mlir::Location loc;
  llvm::StringRef name;
};

} // namespace act::stablehlo
#endif
