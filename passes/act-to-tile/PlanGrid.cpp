// SPDX-License-Identifier: Apache-2.0
#include "passes/act-to-tile/PlanGrid.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/act-to-tile/BlockEvaluator.h"
#include "passes/act-to-tile/FoldTransposes.h"
#include "passes/act-to-tile/PlanKernels.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace act;
using namespace act::tile;

KernelGrid act::tile::planGrid(func::FuncOp function,
                               const PlanOptions &options) {
  const KernelResults results = resultsOf(function);
  KernelGrid grid;
  // The largest; on a tie the one with most dimensions, from which those of the
  // others follow.
  auto size = [](Value v) {
    auto type = cast<RankedTensorType>(v.getType());
    return std::pair(type.getNumElements(), type.getRank());
  };
  for (Value v : results.stored) {
    Value u = unshaped(v);
    if (!grid.root || size(u) > size(grid.root))
      grid.root = u;
  }
  grid.blocks.assign(cast<RankedTensorType>(grid.root.getType()).getRank(), 1);
  Dice dice;
  if (options.seed) {
    // Its text without its name, so that each kernel has draws of its own, in
    // every process, and those that share a cache entry have the same.
    std::string text;
    llvm::raw_string_ostream os(text);
    for (Operation &op : function.getBody().front())
      op.print(os, OpPrintingFlags().useLocalScope());
    dice = Dice(options.seed ^ llvm::xxh3_64bits(text));
  }
  if (auto p = anyProductBehind(grid.root))
    return planProduct(grid, *p, results, options, dice);
  return planRows(grid, results, dice);
}

// Launches are joined before kernels exist, so the grid is planned here by the
// same function as later, in the form that is converted; without reshapes that
// is `function` itself.
FailureOr<KernelKind> act::tile::kindOf(func::FuncOp function,
                                        const PlanOptions &options) {
  OwningOpRef<func::FuncOp> copy;
  if (function
          .walk([](Operation *op) {
            return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)
                       ? WalkResult::interrupt()
                       : WalkResult::advance();
          })
          .wasInterrupted()) {
    copy = function.clone();
    function = *copy;
    if (failed(foldTransposes(function)))
      return failure();
  }
  if (resultsOf(function).stored.empty())
    return failure();
  KernelGrid grid = planGrid(function, options);
  KernelKind kind{grid.warps, grid.stages, grid.inGroups};
  function.walk(
      [&](linalg::GenericOp op) { kind.products += !!factorsOf(op); });
  return kind;
}
