// SPDX-License-Identifier: Apache-2.0
//
// A module's entries by their names: @forward, @grad, @update and @step. A file
// may hold anything under these names.
#ifndef ACT_PASSES_ACT_ENTRIES_H
#define ACT_PASSES_ACT_ENTRIES_H
#include "mlir/IR/BuiltinOps.h"

namespace act {

/// Emits an error and fails when an entry is not a function with a body of one
/// block, or when @grad's first result is no loss: a float tensor of rank 0.
/// Entries may be absent.
llvm::LogicalResult checkEntries(mlir::ModuleOp module);

} // namespace act
#endif
