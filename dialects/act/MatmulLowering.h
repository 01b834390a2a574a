// SPDX-License-Identifier: Apache-2.0
//
// Split-K for products that are too small for a GPU: the sum over k is cut into
// equal parts, each a product of its own. A second kernel adds them up in order
// and continues with what follows.
#ifndef ACT_DIALECTS_ACT_MATMULLOWERING_H
#define ACT_DIALECTS_ACT_MATMULLOWERING_H
#include "dialects/act/Dialect.h"

namespace act {

/// The number of parts for the sum of `op` on a GPU; 1 if it is not split or
/// `op` is no product. It depends on the op's sizes and the views that it
/// reads, not on its users: the same product has the same bits, whatever is
/// kept or fused.
int64_t partsOfProduct(mlir::Operation *op);

/// [parts, result's dimensions] in the computation type.
mlir::RankedTensorType partsOfProductType(mlir::Operation *op);

/// The parts of `op`, of that type.
mlir::Value lowerPartsOfProduct(mlir::OpBuilder &b, mlir::Operation *op,
                                mlir::ValueRange operands);

/// The result of `op` from its `parts`; of `operands` only a bias is read.
mlir::Value lowerProductOfParts(mlir::OpBuilder &b, mlir::Operation *op,
                                mlir::ValueRange operands, mlir::Value parts);

} // namespace act
#endif
