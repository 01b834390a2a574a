// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_ACT_FORMKERNELS_H
#define ACT_PASSES_ACT_FORMKERNELS_H
#include "dialects/act/Dialect.h"

namespace act {
/// Groups the ops of every function into kernels; does nothing if there are
/// groups already.
llvm::LogicalResult formKernels(mlir::ModuleOp module);
bool kernelsFormed(mlir::ModuleOp module);

/// The rotary embedding applied to a product in the group, or null. A GPU runs
/// both in one kernel. The host runs two: the first passes `beforeRope` to the
/// second in the group's workspace.
RopeOp ropeOfProduct(GroupOp group);
mlir::Value beforeRope(RopeOp rope);

/// The gradients of a norm's weight and bias that share the group of its input
/// gradient: sums over the same rows. On a GPU the norm's kernel also writes
/// `rowParts` partial sums of each into a workspace, and a second kernel adds
/// them up. The host has one kernel per sum and needs no workspace. Rows of
/// fewer than 64 numbers are not worth it: each sum gets its own group.
llvm::SmallVector<mlir::Operation *> sumsOfRows(GroupOp group);
constexpr int64_t rowParts = 64;
/// The longest row that one GPU program holds whole.
constexpr int64_t widestSummedRow = 16384;
} // namespace act
#endif
