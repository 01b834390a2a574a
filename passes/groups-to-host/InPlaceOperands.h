// SPDX-License-Identifier: Apache-2.0
//
// Makes an elementwise result that replaces an operand read that operand
// through its output: ins(%p, %g) outs(%empty) becomes ins(%g) outs(%p). The
// operation itself then shows that the dependence is element by element, so
// tiling and bufferization need no copy of %p.
#ifndef ACT_PASSES_GROUPSTOHOST_INPLACEOPERANDS_H
#define ACT_PASSES_GROUPSTOHOST_INPLACEOPERANDS_H
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace act {
void readInPlaceOperandsThroughOutputs(mlir::func::FuncOp func);
} // namespace act

#endif
