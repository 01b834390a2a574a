// SPDX-License-Identifier: Apache-2.0
//
// What the passes of this folder require of a function. compileHostKernels
// checks it once; the passes check it again, since act-opt runs them on
// anything.
#ifndef ACT_PASSES_GROUPSTOHOST_HOSTKERNELFORM_H
#define ACT_PASSES_GROUPSTOHOST_HOSTKERNELFORM_H
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace act {

/// A kernel on tensors: one block, and the types that README.md lists. Later
/// passes rely on static shapes and known types.
mlir::LogicalResult checkTensorKernel(mlir::func::FuncOp func);

/// A kernel on memory, as host-bufferize leaves it: one block, no results.
mlir::LogicalResult checkMemoryKernel(mlir::func::FuncOp func);

} // namespace act
#endif
