// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_DIALECTS_ACT_LINALGGRADIENT_H
#define ACT_DIALECTS_ACT_LINALGGRADIENT_H
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace act {

/// Emits the gradients of a linalg op's operands as
/// DifferentiableOpInterface::buildGradient says. The op has one result; it is
/// an elementwise map of its inputs, which may be broadcast or transposed, a
/// sum of one over its reduction dimensions, or a maximum or minimum of an
/// input. Sums and maxima may be over windows, as in convolutions and pooling.
/// Derivatives of the body's scalar ops are in LinalgGradient.cpp. Anything
/// else is an error that names it.
llvm::LogicalResult
buildLinalgGradient(mlir::linalg::LinalgOp op, mlir::OpBuilder &b,
                    mlir::Value resultGrad, llvm::ArrayRef<bool> needed,
                    llvm::SmallVectorImpl<mlir::Value> &operandGrads);

} // namespace act
#endif
