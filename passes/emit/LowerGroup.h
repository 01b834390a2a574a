// SPDX-License-Identifier: Apache-2.0
//
// A kernel group as functions of plain tensors.
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
    Scratch,   ///< memory that only this form needs, of scratchType(group)
    Parameter, ///< the parameter of effect `index`, or what belongs to it:
    Gradient,
    Master,
    ExpAvg,
    ExpAvgSq,
  } kind = Input;
  unsigned index = 0;
  bool written = false;
};

/// One function and what its pointers are, in the order of the kernel's ABI:
/// arguments, then the results that are not in place.
struct LoweredKernel {
  mlir::func::FuncOp function; // in the module of kernels, without a name yet
  llvm::SmallVector<KernelOperand> operands;
  bool isMain = true; ///< of a group's kernels, the one that its FLOPs are in
};

/// Which of its linalg forms an op is lowered to.
enum class LinalgForm {
  Tiles, ///< lowerToLinalg: attention in loops over tiles
  Sums,  ///< lowerToSums: no loops, for --convert-linalg-to-tile
};

/// Lowers `group` into `kernels`. Usually to one function; the gradient of
/// attention is several, which hand each other what is in workspaces.
/// Attributes of a function's arguments say what results are where: the result
/// with the number `act.inplace` replaces the argument; what programs make of
/// the one with the number `act.summed` is added to it, in the order that the
/// arguments with `act.turns` and `act.ticket` keep, i32 numbers that begin as
/// zeros; of the one with the number `act.parts`, a sum over rows, the argument
/// gets as many parts as it has rows. `inPlace[r]` is the operand whose
/// memory result r has in this launch, or -1.
mlir::FailureOr<llvm::SmallVector<LoweredKernel>>
lowerGroup(GroupOp group, llvm::ArrayRef<int64_t> inPlace,
           mlir::ModuleOp kernels, LinalgForm form = LinalgForm::Tiles);

/// What is in the scratch of a group: the parts of a small product on GPUs
/// (MatmulLowering.h); null where there is none.
mlir::RankedTensorType scratchType(GroupOp group);

} // namespace act
#endif
