// SPDX-License-Identifier: Apache-2.0
//
// Lowers a kernel group to functions of plain tensors.
#ifndef ACT_PASSES_EMIT_LOWERGROUP_H
#define ACT_PASSES_EMIT_LOWERGROUP_H
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace act {

/// What an argument or result of a lowered function is.
struct KernelOperand {
  enum Kind {
    Input,     ///< operand `index` of the group
    Result,    ///< result `index` of the group
    Workspace, ///< workspace `index` of the group
    Scratch,   ///< memory for this form only, of scratchType(group)
    Effect     ///< a `buffer` of the parameter of effect `index`
  } kind = Input;
  unsigned index = 0;
  bool written = false;
  ParameterBuffer buffer = ParameterBuffer::Parameter;
};

/// One function and its pointers, in the order of the kernel's ABI: arguments,
/// then the results that are not in place.
struct LoweredKernel {
  mlir::func::FuncOp function; // in the module of kernels, still unnamed
  llvm::SmallVector<KernelOperand> operands;
  bool isMain = true; ///< of a group's kernels, the one with its FLOPs
};

/// Which of its linalg forms an op is lowered to.
enum class LinalgForm {
  Tiles, ///< lowerToLinalg: attention in loops over tiles
  Sums,  ///< lowerToSums: no loops, for --convert-linalg-to-tile
};

/// Lowers `group` into `kernels`, usually to one function. The gradient of
/// attention takes several, which communicate through workspaces. Argument
/// attributes say where results go:
///
/// - `act.inplace` = r: result r replaces the argument.
/// - `act.summed` = r: programs add result r to it, in the order kept by the
///   arguments with `act.turns` and `act.ticket`, i32 numbers that start as
///   zeros.
/// - `act.parts` = r: result r is a sum over rows; the argument gets as many
///   partial sums as it has rows.
///
/// `inPlace[r]` is the operand whose memory result r uses in this launch, or
/// -1.
mlir::FailureOr<llvm::SmallVector<LoweredKernel>>
lowerGroup(GroupOp group, llvm::ArrayRef<int64_t> inPlace,
           mlir::ModuleOp kernels, LinalgForm form = LinalgForm::Tiles);

/// A group's scratch: the parts of a small product on GPUs (MatmulLowering.h);
/// null if there is none.
mlir::RankedTensorType scratchType(GroupOp group);

} // namespace act
#endif
