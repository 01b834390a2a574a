// SPDX-License-Identifier: Apache-2.0
//
// An elementwise result that replaces one of its operands reads that operand
// through its output: ins(%p, %g) outs(%empty) becomes ins(%g) outs(%p). Then
// the dependence is element by element in the operation itself, and tiling and
// bufferization need no copy of %p to be sure of it.
#ifndef ACT_PASSES_GROUPSTOHOST_INPLACEOPERANDS_H
#define ACT_PASSES_GROUPSTOHOST_INPLACEOPERANDS_H
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace act {
void readInPlaceOperandsThroughOutputs(mlir::func::FuncOp func);
} // namespace act

#endif
