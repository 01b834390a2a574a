// SPDX-License-Identifier: Apache-2.0
#include "passes/act-to-tile/KernelGrid.h"
#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/act-to-tile/Behind.h"
#include "passes/act-to-tile/BlockEvaluator.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace act::tile;

int64_t KernelGrid::blocksOf(size_t dim) const {
  return llvm::divideCeil(shapeOf(root)[dim], blocks[dim]);
}

int64_t KernelGrid::countOf(size_t dim) const {
  if (int(dim) == inTurn || (goesOverColumns && dim + 1 == blocks.size()))
    return 1;
  return blocksOf(dim);
}

int64_t KernelGrid::programs() const {
  int64_t n = 1;
  for (size_t d = 0; d < blocks.size(); ++d)
    n *= countOf(d);
  return n;
}

void KernelGrid::takeGroups(int rows, int64_t groups) {
  constexpr int64_t storedBytes = 4096; // of each warp
  inGroups = true;
  turns &= groups > 1;
  warps = groups * ScheduleAttr::groupWarps;
  blocks[rows] = groups * ScheduleAttr::groupRows;
  besideRing = storedBytes * warps;
}

bool act::tile::canShare(int64_t rows, int64_t columns, int64_t warps) {
  for (int64_t m = warps; m >= 1; m /= 2)
    if (rows % (16 * m) == 0 && columns % (8 * warps / m) == 0)
      return true;
  return false;
}

int64_t act::tile::columnWarps(int64_t rows, int64_t warps) {
  int64_t along = warps;
  while (along > 1 && rows % (16 * along))
    along /= 2;
  return warps / along;
}

int64_t KernelGrid::columnsOfProduct(int64_t rows, int64_t columns) const {
  int64_t n = llvm::alignTo(columns, 16);
  while (rows % 16 == 0 && !canShare(rows, n, warps))
    n += 16;
  return n;
}

SmallVector<int> act::tile::loopsAlong(linalg::GenericOp op,
                                       const KernelGrid &grid) {
  llvm::DenseMap<Value, Dims> ofRoot;
  visitBehind(grid.root, identity(grid.root), ofRoot,
              [](linalg::GenericOp, const Dims &) { return true; });
  Dims loops(op.getNumLoops(), -1);
  for (OpOperand *input : inputsAlong(op))
    if (auto it = ofRoot.find(input->get()); it != ofRoot.end())
      for (auto [e, d] :
           llvm::zip(op.getMatchingIndexingMap(input).getResults(), it->second))
        if (auto dim = dyn_cast<AffineDimExpr>(e); dim && d >= 0)
          loops[dim.getPosition()] = d;
  return loops;
}

int64_t act::tile::rowExtent(int64_t width) {
  if (width < 64)
    return width;
  for (int64_t unit = 8 * fourWarps; unit > 1; unit /= 2)
    if (int64_t extent = llvm::alignTo(width, unit); extent * 16 <= width * 17)
      return extent;
  return width;
}

FailureOr<SmallVector<int>> act::tile::dimensionsOf(Value v,
                                                    const KernelGrid &grid) {
  ArrayRef<int64_t> shape = shapeOf(v), root = shapeOf(grid.root);
  auto all = [](linalg::GenericOp, const Dims &) { return true; };
  // Match dimensions through common operands. If both results read a tensor,
  // the dimensions along which they read it count the same.
  llvm::DenseMap<Value, Dims> ofRoot, ofValue;
  visitBehind(grid.root, identity(grid.root), ofRoot, all);
  visitBehind(v, identity(v), ofValue, all);
  Dims best;
  size_t matched = 0;
  for (auto &[tensor, own] : ofValue) {
    auto it = ofRoot.find(tensor);
    if (it == ofRoot.end())
      continue;
    Dims dims(shape.size(), -1);
    size_t n = 0;
    for (auto [o, r] : llvm::zip(own, it->second))
      if (o >= 0 && r >= 0 && dims[o] < 0 && shape[o] == root[r] &&
          !llvm::is_contained(dims, r)) {
        dims[o] = r;
        ++n;
      }
    if (best.empty() || n > matched) {
      best = dims;
      matched = n;
    }
  }
  // Match dimensions by size, in order. It finds more where the results have no
  // operand in common, or where a reshape hides what is along what.
  Dims bySize(shape.size(), -1);
  size_t next = 0, n = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    for (size_t r = next; r < root.size(); ++r)
      if (shape[d] == root[r]) {
        bySize[d] = r;
        next = r + 1;
        ++n;
        break;
      }
  if (n > matched)
    best = bySize;
  best.resize(shape.size(), -1);
  // A product's rows must be along the grid: there are many.
  if (auto p = productBehind(v); p && v != grid.root && best[p->rows] < 0)
    return failure();
  int64_t whole = 1;
  for (auto [d, size] : llvm::zip(best, shape))
    if (d < 0)
      whole *= size;
  if (whole > longestRow)
    return failure();
  return best;
}
