// SPDX-License-Identifier: Apache-2.0
//
// The gradients of a norm's weight and bias as kernels that go over rows once:
// partial sums for some rows, next to the gradient of these rows' input, and a
// final sum of the parts.
#ifndef ACT_DIALECTS_ACT_NORMLOWERING_H
#define ACT_DIALECTS_ACT_NORMLOWERING_H
#include "dialects/act/Dialect.h"

namespace act {

/// The sum over the rows of `grad` before `op` (an act.norm_weight_grad or an
/// act.sum_to of all rows) rounds it: [h], in the computation type. Loops are
/// those of `grad`, [..., h].
mlir::Value lowerSumOfRows(mlir::OpBuilder &b, mlir::Operation *op,
                           mlir::ValueRange operands, mlir::Value grad);

/// The result of `op`, made of `parts` of that sum, [parts, h].
mlir::Value lowerSumOfParts(mlir::OpBuilder &b, mlir::Operation *op,
                            mlir::Value parts);

} // namespace act
#endif
