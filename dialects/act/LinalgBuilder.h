// SPDX-License-Identifier: Apache-2.0
//
// Builds the ops' linalg forms.
//
// A form is a few `linalg.generic` on plain tensors (no encodings, static
// shapes). LinalgBuilder makes them; inside a body, Scalars does arithmetic in
// one float type, the computation type: f64 when any float operand or result
// is f64, else f32. Every float that enters a body is widened to it, and every
// float that leaves is rounded to the element type of the result. So one
// generic is one rounding, and a form that has several intermediate tensors in
// the computation type rounds only where it says so.
//
// Example: y = 2 * x + 1 on tensor<4x8xbf16>
//
//   LinalgBuilder l(builder, loc, {x.getType()});
//   Value y = l.map({4, 8}, {l.whole(x)}, bf16, [](Scalars &s, ValueRange in) {
//     return s.add(s.mul(s.f(2), in[0]), s.f(1));
//   });
//
// makes a generic that widens bf16 to f32, computes, and truncates.
//
// Maps. Loops are numbered as the shape given; `whole` reads an operand at
// (d0, ..., dn-1), `at(x, {0, 2})` at (d0, d2), `broadcast` as numpy does from
// the right.
#ifndef ACT_DIALECTS_ACT_LINALGBUILDER_H
#define ACT_DIALECTS_ACT_LINALGBUILDER_H
#include "dialects/act/Types.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace act {

/// `type` as the linalg forms see it: without its encoding; an nf4 tensor is
/// the flat i8 tensor of its bytes.
RankedTensorType plainTensor(mlir::Type type);

/// f64 if one of `types` (tensors or scalars) is a 64-bit float, else f32.
mlir::Type commonComputeType(mlir::TypeRange types);

/// A float scalar in another float type, rounded to nearest even; 64-bit to
/// 16-bit goes through f32, as PyTorch does. f8E4M3FN is spelled out in integer
/// operations, because LLVM has none for it.
mlir::Value convertFloat(mlir::OpBuilder &b, mlir::Location loc,
                         mlir::Value scalar, mlir::Type to);

/// Arithmetic on scalars of the computation type.
class Scalars {
public:
  Scalars(mlir::OpBuilder &b, mlir::Location loc, mlir::Type compute)
      : b(b), loc(loc), compute(compute) {}

  mlir::Value f(double value);      ///< a constant of the type
  mlir::Value i32(int64_t value);   ///< an i32 constant
  mlir::Value i64(int64_t value);   ///< an i64 constant
  mlir::Value index(int64_t value); ///< an index constant
  mlir::Value negInf();
  mlir::Value loop(int64_t dim);   ///< linalg.index
  mlir::Value loop64(int64_t dim); ///< linalg.index as i64
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value div(mlir::Value x, mlir::Value y);
  mlir::Value neg(mlir::Value x);
  mlir::Value max(mlir::Value x, mlir::Value y); ///< NaN if either is
  mlir::Value min(mlir::Value x, mlir::Value y);
  mlir::Value exp(mlir::Value x);
  mlir::Value log(mlir::Value x);
  mlir::Value sqrt(mlir::Value x);
  mlir::Value tanh(mlir::Value x);
  mlir::Value erf(mlir::Value x);
  mlir::Value sigmoid(mlir::Value x); ///< 1 / (1 + exp(-x))
  mlir::Value select(mlir::Value c, mlir::Value x, mlir::Value y);
  mlir::Value eq(mlir::Value x, mlir::Value y); ///< on integers
  mlir::Value isNegInf(mlir::Value x);
  /// An i32 or i64 as index, moved into [0, size).
  mlir::Value clampedIndex(mlir::Value id, int64_t size);
  /// `x` of the computation type, as read back after a store to `element`.
  mlir::Value rounded(mlir::Value x, mlir::Type element);

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Type compute;
};

class LinalgBuilder {
public:
  using Body = llvm::function_ref<mlir::Value(Scalars &, mlir::ValueRange)>;
  using Bodies = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      Scalars &, mlir::ValueRange)>;
  /// An operand of a generic; without a map, (d0, ..., dn-1).
  struct Input {
    mlir::Value tensor;
    mlir::AffineMap map;
  };

  LinalgBuilder(mlir::OpBuilder &b, mlir::Location loc, mlir::TypeRange types)
      : b(b), loc(loc), compute(commonComputeType(types)) {}

  /// Reads `tensor` at its own rank's loops, in order.
  Input whole(mlir::Value tensor) { return {tensor, {}}; }
  /// Reads `tensor` at the named loops.
  Input at(mlir::Value tensor, llvm::ArrayRef<int64_t> loops) {
    return {tensor, projection(loops)};
  }
  /// Reads `tensor` as numpy broadcasts it to `shape`.
  Input broadcast(mlir::Value tensor, llvm::ArrayRef<int64_t> shape);

  /// One generic, parallel in all of `shape`, with one or several results.
  mlir::Value map(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<Input> inputs,
                  mlir::Type element, Body body);
  llvm::SmallVector<mlir::Value> mapAll(llvm::ArrayRef<int64_t> shape,
                                        llvm::ArrayRef<Input> inputs,
                                        llvm::ArrayRef<mlir::Type> elements,
                                        Bodies body);

  /// One generic over `ranges` that folds the loops in `reduced`, starting
  /// from `initial`; the other loops, in order, are the result's dimensions.
  /// The body's last value is the accumulator, of type `element` (the
  /// computation type when null).
  mlir::Value reduce(llvm::ArrayRef<int64_t> ranges,
                     llvm::ArrayRef<int64_t> reduced,
                     llvm::ArrayRef<Input> inputs, mlir::Attribute initial,
                     Body body, mlir::Type element = {});
  /// The sum of body(inputs) over the loops in `reduced`.
  mlir::Value sum(llvm::ArrayRef<int64_t> ranges,
                  llvm::ArrayRef<int64_t> reduced, llvm::ArrayRef<Input> inputs,
                  Body body);
  /// The maximum, -inf when there is nothing.
  mlir::Value maximum(llvm::ArrayRef<int64_t> ranges,
                      llvm::ArrayRef<int64_t> reduced, Input input);

  /// `tensor` rounded to `element`, itself when it has that type.
  mlir::Value rounded(mlir::Value tensor, mlir::Type element);
  /// The elements of `input` as a tensor of `shape`, bit by bit.
  mlir::Value copy(llvm::ArrayRef<int64_t> shape, Input input);
  /// The same elements in another shape: collapse_shape and expand_shape.
  mlir::Value reshape(mlir::Value tensor, llvm::ArrayRef<int64_t> shape);
  /// Elements [offset, offset + size) of dimension `dim`.
  mlir::Value slice(mlir::Value tensor, int64_t dim, int64_t offset,
                    int64_t size);

  mlir::Value empty(llvm::ArrayRef<int64_t> shape, mlir::Type element);
  mlir::Value filled(llvm::ArrayRef<int64_t> shape, mlir::Attribute value);
  mlir::Value zeros(llvm::ArrayRef<int64_t> shape, mlir::Type element);
  mlir::FloatAttr zero() { return b.getFloatAttr(compute, 0.0); }
  mlir::FloatAttr negInf();
  mlir::AffineMap projection(llvm::ArrayRef<int64_t> loops);

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Type compute;
};

llvm::ArrayRef<int64_t> shapeOf(mlir::Value tensor);
mlir::Type elementOf(mlir::Value tensor);

/// Emits an elementwise op: one generic with numpy's maps around emitScalar.
/// Every op with the ElementwiseOpInterface lowers so.
mlir::LogicalResult
lowerElementwise(mlir::Operation *op, mlir::OpBuilder &b,
                 mlir::ValueRange operands,
                 llvm::SmallVectorImpl<mlir::Value> &results);

} // namespace act
#endif
