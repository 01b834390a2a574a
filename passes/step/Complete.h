// SPDX-License-Identifier: Apache-2.0
//
// Brings a module from any stage to kernel form, for analysis or compilation.
// Modifies the module: pass a clone.
#ifndef ACT_PASSES_STEP_COMPLETE_H
#define ACT_PASSES_STEP_COMPLETE_H
#include "dialects/act/Dialect.h"

namespace act {

/// Runs the missing stages with default options: differentiates a module whose
/// @forward returns a loss, writes its step (AdamW) and forms kernels. Stages
/// that have already run keep their choices.
llvm::LogicalResult completeModule(mlir::ModuleOp module);

/// Whether the module has a loss and trainable parameters, but is in kernel
/// form without @grad. Such a module can no longer be differentiated.
bool lacksGradient(mlir::ModuleOp module);

} // namespace act
#endif
