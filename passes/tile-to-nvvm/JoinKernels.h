// SPDX-License-Identifier: Apache-2.0
//
// Kernels that need nothing of each other, as one launch.
//
// The programs of the first come first, then those of the next: a program's
// number says whose it is. A kernel may be there several times, with arguments
// of its own each time; its code is there once. Programs compute what they
// would have computed alone, so results are the same bit for bit. Shared memory
// is that of the one that needs most, and so are registers.
#ifndef ACT_PASSES_TILETONVVM_JOINKERNELS_H
#define ACT_PASSES_TILETONVVM_JOINKERNELS_H
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace act::tile {

/// A kernel of a joined one, with that many sets of arguments.
struct KernelPart {
  mlir::gpu::GPUFuncOp kernel;
  int64_t times = 1;
};

/// Appends a gpu.module to `into` with one kernel, `name`: all `parts`, kernels
/// in threads' code, which have known grids of one dimension. Its arguments are
/// those of the parts, in their order. Null where blocks are unlike, or the
/// parts are too many programs for one grid.
mlir::gpu::GPUModuleOp joinKernels(llvm::StringRef name,
                                   llvm::ArrayRef<KernelPart> parts,
                                   mlir::ModuleOp into);

} // namespace act::tile
#endif
