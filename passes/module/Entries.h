// SPDX-License-Identifier: Apache-2.0
//
// A module's entries: @forward, @grad, @update and @step. An input file may
// hold anything under these names.
#ifndef ACT_PASSES_MODULE_ENTRIES_H
#define ACT_PASSES_MODULE_ENTRIES_H
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace act {

/// Entry names. A written or imported model has only @forward.
inline constexpr llvm::StringLiteral forwardName = "forward";
inline constexpr llvm::StringLiteral gradName = "grad";
inline constexpr llvm::StringLiteral updateName = "update";
inline constexpr llvm::StringLiteral stepName = "step";

/// Whether a function of this name is an entry.
bool isEntry(llvm::StringRef name);

/// Emits an error and fails if an entry is not a function with a one-block
/// body, if the attributes of a differentiable function are misplaced, or, in
/// another module, if @grad's first result is not a loss: a float tensor of
/// rank 0. Entries may be absent.
llvm::LogicalResult checkEntries(mlir::ModuleOp module);

/// Whether @forward's first result is a loss: a float tensor of rank 0.
bool returnsLoss(mlir::ModuleOp module);

/// Whether the module is a differentiable function: @forward, or @grad where
/// there is no @forward, has the attribute act.differentiable.
bool isDifferentiableFunction(mlir::ModuleOp module);

/// Whether the module can be differentiated: it returns a loss or is a
/// differentiable function.
bool hasBackward(mlir::ModuleOp module);

/// The function to analyse or run by default: the first of step, grad and
/// forward that the module has.
std::string mainFunction(mlir::ModuleOp module);

/// Whether the module is in kernel form: it has groups.
bool kernelsFormed(mlir::ModuleOp module);

} // namespace act
#endif
