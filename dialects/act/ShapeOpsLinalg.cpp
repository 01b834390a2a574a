// SPDX-License-Identifier: Apache-2.0
// Views are written so that a consumer can read through them: reshapes as
// collapse and expand, permutations and repetitions as generics with projected
// permutation maps. A repetition of runs (GQA) splits the dimension, so that
// tiling needs no index division.
#include "dialects/act/LinalgBuilder.h"

using namespace mlir;
using namespace act;

LogicalResult ConstantOp::lowerToLinalg(OpBuilder &b, ValueRange,
                                        SmallVectorImpl<Value> &results) {
  auto type = plainTensor(getResult().getType());
  auto dense = dyn_cast<DenseElementsAttr>(getValue());
  if (!dense || isa<NF4Type>(getResult().getType().getElementType()))
    return emitOpError("has a value that is not dense: no linalg form");
  LinalgBuilder l(b, getLoc(), {type});
  if (dense.isSplat())
    results.push_back(
        l.filled(type.getShape(), dense.getSplatValue<TypedAttr>()));
  else
    results.push_back(arith::ConstantOp::create(
        b, getLoc(),
        DenseElementsAttr::getFromRawBuffer(type, dense.getRawData())));
  return success();
}

// A quantised weight is raw bytes: it can be dequantised, not reshaped.
static LogicalResult rejectQuantised(Operation *op) {
  for (Type type : op->getOperandTypes())
    if (isa<NF4Type>(getElementTypeOrSelf(type)))
      return op->emitOpError()
             << "of " << type << " has no linalg form; dequantise it first";
  return success();
}

LogicalResult TransposeOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                         SmallVectorImpl<Value> &results) {
  if (failed(rejectQuantised(*this)))
    return failure();
  ArrayRef<int64_t> permutation = getPermutation();
  SmallVector<int64_t> shape, loops(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) {
    shape.push_back(shapeOf(operands[0])[permutation[i]]);
    loops[permutation[i]] = i;
  }
  LinalgBuilder l(b, getLoc(), {operands[0].getType()});
  // In the tensor's own type: nothing is computed.
  auto input = l.at(operands[0], loops);
  results.push_back(l.copy(shape, input));
  return success();
}

LogicalResult ReshapeOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                       SmallVectorImpl<Value> &results) {
  if (failed(rejectQuantised(*this)))
    return failure();
  LinalgBuilder l(b, getLoc(), {operands[0].getType()});
  results.push_back(l.reshape(operands[0], getResult().getType().getShape()));
  return success();
}

// Splits every dimension of `large` that is a multiple of `small`'s into
// (small, multiple); `loops` are those of `small`.
static void splitRuns(ArrayRef<int64_t> small, ArrayRef<int64_t> large,
                      SmallVectorImpl<int64_t> &split,
                      SmallVectorImpl<int64_t> &kept,
                      SmallVectorImpl<int64_t> &runs,
                      SmallVectorImpl<int64_t> &packed) {
  for (auto [s, n] : llvm::zip(small, large)) {
    if (s != 1 || n == 1) {
      kept.push_back(split.size());
      split.push_back(s);
      packed.push_back(s);
    }
    if (s != n) {
      runs.push_back(split.size());
      split.push_back(s ? n / s : 1);
    }
  }
}

LogicalResult ExpandOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                      SmallVectorImpl<Value> &results) {
  if (failed(rejectQuantised(*this)))
    return failure();
  ArrayRef<int64_t> shape = getResult().getType().getShape();
  SmallVector<int64_t> split, kept, runs, packed;
  splitRuns(shapeOf(operands[0]), shape, split, kept, runs, packed);
  LinalgBuilder l(b, getLoc(), {operands[0].getType()});
  Value input = l.reshape(operands[0], packed);
  Value out = l.copy(split, l.at(input, kept));
  results.push_back(l.reshape(out, shape));
  return success();
}

LogicalResult SumToOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                     SmallVectorImpl<Value> &results) {
  ArrayRef<int64_t> shape = getResult().getType().getShape();
  SmallVector<int64_t> split, kept, runs, packed;
  splitRuns(shape, shapeOf(operands[0]), split, kept, runs, packed);
  Type element = getResult().getType().getElementType();
  LinalgBuilder l(b, getLoc(), {operands[0].getType(), element});
  Value value = operands[0];
  if (!runs.empty()) {
    value = l.reshape(value, split);
    value = l.sum(split, runs, {l.whole(value)},
                  [](Scalars &, ValueRange x) { return x[0]; });
  }
  value = l.rounded(value, element);
  results.push_back(l.reshape(value, shape));
  return success();
}

LogicalResult SplitOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                     SmallVectorImpl<Value> &results) {
  if (failed(rejectQuantised(*this)))
    return failure();
  LinalgBuilder l(b, getLoc(), {operands[0].getType()});
  int64_t dim = shapeOf(operands[0]).size() - 1, offset = 0;
  for (Value part : getParts()) {
    int64_t size = shapeOf(part).back();
    results.push_back(l.slice(operands[0], dim, offset, size));
    offset += size;
  }
  return success();
}

LogicalResult ConcatOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                      SmallVectorImpl<Value> &results) {
  if (failed(rejectQuantised(*this)))
    return failure();
  auto type = plainTensor(getResult().getType());
  LinalgBuilder l(b, getLoc(), {type});
  Value out = l.empty(type.getShape(), type.getElementType());
  int64_t rank = type.getRank(), offset = 0;
  SmallVector<OpFoldResult> offsets(rank, b.getIndexAttr(0)),
      strides(rank, b.getIndexAttr(1));
  for (Value part : operands) {
    SmallVector<OpFoldResult> sizes;
    for (int64_t size : shapeOf(part))
      sizes.push_back(b.getIndexAttr(size));
    offsets.back() = b.getIndexAttr(offset);
    out = tensor::InsertSliceOp::create(b, getLoc(), part, out, offsets, sizes,
                                        strides);
    offset += shapeOf(part).back();
  }
  results.push_back(out);
  return success();
}
