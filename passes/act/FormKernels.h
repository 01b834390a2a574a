// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_ACT_FORMKERNELS_H
#define ACT_PASSES_ACT_FORMKERNELS_H
#include "dialects/act/Dialect.h"

namespace act {
/// Puts the ops of every function into groups; does nothing if there are
/// groups already.
llvm::LogicalResult formKernels(mlir::ModuleOp module);
bool kernelsFormed(mlir::ModuleOp module);

/// The rotary embedding of what a product of the group makes, or null. For a
/// GPU they are one kernel. The host has two: the first hands `beforeRope` to
/// the second, in the group's workspace.
RopeOp ropeOfProduct(GroupOp group);
mlir::Value beforeRope(RopeOp rope);

/// The sums over the rows that a norm's gradient in the group goes over: the
/// gradients of its weight and bias. For a GPU the norm's kernel makes them
/// too, `rowParts` parts of each in a workspace, which a second kernel adds up.
/// The host has a kernel for each and needs no workspace. Rows of fewer than 64
/// numbers are not worth that: each sum is a kernel of a group of its own.
llvm::SmallVector<mlir::Operation *> sumsOfRows(GroupOp group);
constexpr int64_t rowParts = 64;
/// Of rows that a GPU's program has whole.
constexpr int64_t widestSummedRow = 16384;
} // namespace act
#endif
