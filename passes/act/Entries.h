// SPDX-License-Identifier: Apache-2.0
//
// Checks a module's entries: @forward, @grad, @update and @step. An input file
// may hold anything under these names.
#ifndef ACT_PASSES_ACT_ENTRIES_H
#define ACT_PASSES_ACT_ENTRIES_H
#include "mlir/IR/BuiltinOps.h"

namespace act {

/// Emits an error and fails if an entry is not a function with a one-block
/// body, or if @grad's first result is not a loss: a float tensor of rank 0.
/// Entries may be absent.
llvm::LogicalResult checkEntries(mlir::ModuleOp module);

} // namespace act
#endif
