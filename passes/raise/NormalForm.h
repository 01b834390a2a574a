// SPDX-License-Identifier: Apache-2.0
//
// Linalg in one form, before ops of act are found in it.
#ifndef ACT_PASSES_RAISE_NORMALFORM_H
#define ACT_PASSES_RAISE_NORMALFORM_H
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace act {

bool hasTosa(mlir::func::FuncOp function);
/// tosa.concat as one op, which upstream lowers to one insertion for each
/// operand.
void joinTosaConcats(mlir::func::FuncOp function);

/// - Named ops are generic ones.
/// - Bodies have one op, but for gathers; a reduction's cast is an op before
/// it.
/// - Windows that do not overlap are dimensions of a reshaped input.
/// - A reduction reads its only input in its own order.
/// - Equal ops are one.
mlir::LogicalResult bringToOneForm(mlir::func::FuncOp function);

void mergeEqualOps(mlir::func::FuncOp function);
/// Removes what nobody reads any more, readers first.
void eraseUnread(mlir::func::FuncOp function);

} // namespace act
#endif
