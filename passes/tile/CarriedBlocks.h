// SPDX-License-Identifier: Apache-2.0
//
// Blocks that control flow passes on: the values that a loop carries or a
// branch returns. Lowered to threads, it passes registers on, so these values
// have one layout.
#ifndef ACT_PASSES_TILE_CARRIEDBLOCKS_H
#define ACT_PASSES_TILE_CARRIEDBLOCKS_H
#include "mlir/IR/Operation.h"

namespace act::tile {

/// Adds the values that must have `v`'s layout because control flow passes one
/// to the other.
void aliases(mlir::Value v, llvm::SmallVectorImpl<mlir::Value> &out);

/// If `op` is a loop or a branch, calls `require` for each operand that it
/// passes on, with the value whose type decides: the loop's or branch's result.
void handOn(mlir::Operation *op,
            llvm::function_ref<void(mlir::OpOperand &, mlir::Value)> require);

/// Gives the arguments of a loop's body the types of its results.
void retypeArguments(mlir::Operation *op);

} // namespace act::tile
#endif
