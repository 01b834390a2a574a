// SPDX-License-Identifier: Apache-2.0
//
// A product that is too small for a GPU, in parts (split-K): the sum over k is
// cut into equal parts that are products of their own, and a second kernel adds
// these up in order, and goes on with what follows.
#ifndef ACT_DIALECTS_ACT_MATMULLOWERING_H
#define ACT_DIALECTS_ACT_MATMULLOWERING_H
#include "dialects/act/Dialect.h"

namespace act {

/// Into how many parts the sum of `op` is cut on a GPU; 1: it is not, or `op`
/// is no product. Of the op's sizes and of the views that it reads, not of what
/// follows it: the same product has the same bits, whatever is kept or fused.
int64_t partsOfProduct(mlir::Operation *op);

/// [parts, result's dimensions] in the computation type.
mlir::RankedTensorType partsOfProductType(mlir::Operation *op);

/// The parts of `op`, of that type.
mlir::Value lowerPartsOfProduct(mlir::OpBuilder &b, mlir::Operation *op,
                                mlir::ValueRange operands);

/// The result of `op`, made of its `parts`; of `operands` only a bias is read.
mlir::Value lowerProductOfParts(mlir::OpBuilder &b, mlir::Operation *op,
                                mlir::ValueRange operands, mlir::Value parts);

} // namespace act
#endif
