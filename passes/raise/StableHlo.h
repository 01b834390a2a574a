// SPDX-License-Identifier: Apache-2.0
//
// StableHLO, which the distribution's MLIR does not have: ops of that name in
// generic form, whose attributes are dictionaries and opaque text.
#ifndef ACT_PASSES_RAISE_STABLEHLO_H
#define ACT_PASSES_RAISE_STABLEHLO_H
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace act {

/// Rewrites the function's stablehlo ops to linalg, tensor and arith. An op
/// that is not known, or that is used in a way that is not, is an error with
/// its name.
mlir::LogicalResult lowerStableHlo(mlir::func::FuncOp function);

} // namespace act
#endif
