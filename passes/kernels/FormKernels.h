// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_KERNELS_FORMKERNELS_H
#define ACT_PASSES_KERNELS_FORMKERNELS_H
#include "dialects/act/Dialect.h"

namespace act {
/// Groups the ops of every function into kernels; does nothing if there are
/// groups already.
llvm::LogicalResult formKernels(mlir::ModuleOp module);

/// Checks a module in kernel form, with an error for the first thing that is
/// wrong. `formKernels` does so at its end.
llvm::LogicalResult checkGroups(mlir::ModuleOp module);
} // namespace act
#endif
