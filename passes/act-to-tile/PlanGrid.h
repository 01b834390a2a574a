// SPDX-License-Identifier: Apache-2.0
//
// The one place that chooses blocks, warps and stages of a kernel. It asks the
// target what a program may use, and estimates what the kernel takes.
//
// In two steps, because a group has the same bits whatever it is fused with:
//
//   SumOrder     what the bits of sums depend on: a function of the product
//                (attention is several) alone, its shape, types and target
//   all others   blocks, warps, stages and the order of programs: these see the
//                whole group, and leave every bit as it is
//
// Kernels without products have no such choice: where they sum, rows and warps
// follow from the width and the number of rows.
#ifndef ACT_PASSES_ACTTOTILE_PLANGRID_H
#define ACT_PASSES_ACTTOTILE_PLANGRID_H
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/act-to-tile/KernelGrid.h"
#include "passes/act-to-tile/PlanInputs.h"

namespace act::tile {

/// The grid of a function in which transposes are folded (FoldTransposes.h). At
/// least one of its results is stored by blocks.
KernelGrid planGrid(mlir::func::FuncOp function, const PlanOptions &options);

/// Properties of the kernel of `function`, known before it exists. Kernels with
/// different ones cannot be joined.
struct KernelKind {
  int64_t warps = 0, stages = 0;
  bool inGroups = false;
  int64_t products = 0; // sums of products in it
};
mlir::FailureOr<KernelKind> kindOf(mlir::func::FuncOp function,
                                   const PlanOptions &options);

} // namespace act::tile
#endif
