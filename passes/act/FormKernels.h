// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_ACT_FORMKERNELS_H
#define ACT_PASSES_ACT_FORMKERNELS_H
#include "dialects/act/Dialect.h"

namespace act {
/// Puts the ops of every function into groups; does nothing if there are
/// groups already.
llvm::LogicalResult formKernels(mlir::ModuleOp module);
bool kernelsFormed(mlir::ModuleOp module);
} // namespace act
#endif
