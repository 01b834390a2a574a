// SPDX-License-Identifier: Apache-2.0
//
// Joins independent kernels into one launch.
//
// The programs of the first part come first, then those of the next: a
// program's number selects its part. A kernel may occur several times with
// different arguments; its code is emitted once. Programs compute what they
// would have computed alone, so results are bitwise equal. Shared memory and
// registers are the maxima over the parts.
#ifndef ACT_PASSES_TILETONVVM_JOINKERNELS_H
#define ACT_PASSES_TILETONVVM_JOINKERNELS_H
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace act::tile {

/// One kernel of a joined one, with its number of argument sets.
struct KernelPart {
  mlir::gpu::GPUFuncOp kernel;
  int64_t times = 1;
};

/// Appends a gpu.module to `into` with one kernel, `name`, that does all
/// `parts`: kernels in thread code with known one-dimensional grids. Its
/// arguments are those of the parts, in order. Null if block sizes differ or
/// there are too many programs for one grid.
mlir::gpu::GPUModuleOp joinKernels(llvm::StringRef name,
                                   llvm::ArrayRef<KernelPart> parts,
                                   mlir::ModuleOp into);

} // namespace act::tile
#endif
