// SPDX-License-Identifier: Apache-2.0
//
// Lowers a kernel group to functions of plain tensors.
#ifndef ACT_PASSES_LOWERGROUPS_LOWERGROUP_H
#define ACT_PASSES_LOWERGROUPS_LOWERGROUP_H
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace act {

/// One function and its pointers, in the order of the kernel's ABI: arguments,
/// then the results that are not in place.
struct LoweredKernel {
  mlir::func::FuncOp function; // in the module of kernels, still unnamed
  llvm::SmallVector<KernelOperandAttr> operands;
  bool isMain = true; ///< of a group's kernels, the one with its FLOPs
};

/// Lowers `group` into `kernels`: a function for each of its parts
/// (passes/kernels/KernelParts.h). The roles of arguments say where results go.
/// `inPlace[r]` is the operand whose memory result r uses in this launch, or
/// -1.
mlir::FailureOr<llvm::SmallVector<LoweredKernel>>
lowerGroup(GroupOp group, llvm::ArrayRef<int64_t> inPlace,
           mlir::ModuleOp kernels, LinalgForm form = LinalgForm::Tiles);

} // namespace act
#endif
