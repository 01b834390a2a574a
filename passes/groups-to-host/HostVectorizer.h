// SPDX-License-Identifier: Apache-2.0
//
// From one linalg operation on memory to loops over vectors.
//
// The body of an operation is evaluated for `width` neighbouring points at once
// along one iteration dimension, the lane dimension. While evaluating, a value
// is in one of three states:
//
//   Uniform     the same for all lanes: a scalar
//   Counting    base, base + 1, ...: an index, kept as the scalar base
//   Varying     a vector
//
// so that a load whose last subscript counts is a vector load, one that is
// uniform is a scalar load, and everything else is gathered lane by lane. With
// width 1 everything is Uniform: the same code makes the remainder loop.
#ifndef ACT_PASSES_GROUPSTOHOST_HOSTVECTORIZER_H
#define ACT_PASSES_GROUPSTOHOST_HOSTVECTORIZER_H
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace act {

struct Lanes {
  enum Kind { Uniform, Counting, Varying } kind = Uniform;
  mlir::Value value;
};

/// Evaluates (parts of) the body of `op` at a point of its iteration space.
class BodyEvaluator {
public:
  /// `ivs` has a value for each iteration dimension; the lane dimension's is
  /// the first lane's. laneDim < 0: no lane dimension (width must be 1).
  BodyEvaluator(mlir::linalg::GenericOp op, mlir::OpBuilder &builder,
                mlir::ArrayRef<mlir::Value> ivs, int64_t laneDim, int64_t width)
      : op(op), builder(builder), ivs(ivs.begin(), ivs.end()), laneDim(laneDim),
        width(width) {}

  /// Fixes a value of the body (an accumulator, or one computed further out).
  void set(mlir::Value bodyValue, Lanes lanes) { known[bodyValue] = lanes; }

  Lanes get(mlir::Value bodyValue);
  /// The same, as a vector when width > 1.
  mlir::Value getVector(mlir::Value bodyValue);

  Lanes loadOperand(mlir::OpOperand *operand);
  void storeOperand(mlir::OpOperand *operand, mlir::Value lanes);

  mlir::Value toVector(Lanes lanes);

private:
  mlir::SmallVector<Lanes> subscripts(mlir::AffineMap map);
  Lanes load(mlir::Value memref, mlir::ArrayRef<Lanes> subscripts);
  void store(mlir::Value memref, mlir::ArrayRef<Lanes> subscripts,
             mlir::Value lanes);
  Lanes evaluate(mlir::Operation *def, unsigned result);
  mlir::Value lane(Lanes lanes, int64_t index);

  mlir::linalg::GenericOp op;
  mlir::OpBuilder &builder;
  mlir::SmallVector<mlir::Value> ivs;
  int64_t laneDim, width;
  llvm::DenseMap<mlir::Value, Lanes> known;
};

/// Upper bounds of the iteration dimensions (all start at 0).
mlir::SmallVector<mlir::Value> loopBounds(mlir::linalg::LinalgOp op,
                                          mlir::OpBuilder &builder);

/// Transposes n vectors of n lanes, n a power of two.
void transposeSquare(mlir::OpBuilder &builder, mlir::Location loc,
                     llvm::SmallVectorImpl<mlir::Value> &square);

/// Replaces any generic by loops.
mlir::LogicalResult vectorizeGeneric(mlir::linalg::GenericOp op,
                                     mlir::RewriterBase &rewriter);

/// Replaces a matrix product by packed, register-tiled loops; fails without a
/// change when its memory has no contiguous direction that suits it.
mlir::LogicalResult lowerContraction(mlir::linalg::GenericOp op,
                                     mlir::RewriterBase &rewriter);

} // namespace act
#endif
