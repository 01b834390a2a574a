// SPDX-License-Identifier: Apache-2.0
// Grids of kernels without products.
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/act-to-tile/BlockEvaluator.h"
#include "passes/act-to-tile/PlanKernels.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace act::tile;

namespace {

/// Elements of a block without products.
constexpr int64_t blockElements = 4096;

/// Whether a block of `v` with these extents splits into blocks. Where one
/// dimension collapses several, it must take a single one, or be whole after
/// the first.
bool isMadeOfBlocks(Value v, ArrayRef<int64_t> extents) {
  if (argumentBehind(v))
    return true;
  auto isWide = [](RankedTensorType t, int64_t d) {
    return t.getDimSize(d) > 1;
  };
  Operation *op = v.getDefiningOp();
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    if (llvm::any_of(*generic.getBody(), llvm::IsaPred<tensor::ExtractOp>))
      return false;
    SmallVector<int64_t> loops(generic.getNumLoops(), 1);
    AffineMap map = generic.getMatchingIndexingMap(
        generic.getDpsInitOperand(cast<OpResult>(v).getResultNumber()));
    for (auto [e, n] : llvm::zip(map.getResults(), extents))
      if (auto dim = dyn_cast<AffineDimExpr>(e))
        loops[dim.getPosition()] = n;
    return llvm::all_of(generic.getDpsInputOperands(), [&](OpOperand *input) {
      if (!isa<RankedTensorType>(input->get().getType()))
        return true;
      SmallVector<int64_t> own;
      SmallVector<unsigned> order;
      for (AffineExpr e : generic.getMatchingIndexingMap(input).getResults()) {
        auto dim = dyn_cast<AffineDimExpr>(e);
        own.push_back(dim ? loops[dim.getPosition()] : 1);
        if (own.back() > 1)
          order.push_back(dim.getPosition());
      }
      // Only loads can be transposed in more than two dimensions.
      return argumentBehind(input->get()) ||
             ((order.size() <= 2 || llvm::is_sorted(order)) &&
              isMadeOfBlocks(input->get(), own));
    });
  }
  SmallVector<int64_t> moved;
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    for (const ReassociationIndices &group : expand.getReassociationIndices()) {
      int64_t n = 1;
      for (int64_t d : group) {
        if (isWide(expand.getResultType(), d) && n > 1)
          return false;
        n = std::max(n, extents[d]);
      }
      moved.push_back(n);
    }
    return isMadeOfBlocks(expand.getSrc(), moved);
  }
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    RankedTensorType from = collapse.getSrcType();
    for (auto [n, group] :
         llvm::zip(extents, collapse.getReassociationIndices())) {
      int64_t all = 1;
      for (int64_t i : group)
        all *= from.getDimSize(i);
      int64_t rest = std::min(n, all);
      SmallVector<int64_t> own(group.size(), 1);
      for (size_t i = group.size(); i-- > 0;) {
        own[i] = std::min(rest, from.getDimSize(group[i]));
        if (rest % own[i] || (i && own[i] < from.getDimSize(group[i]) && n > 1))
          return false;
        rest /= own[i];
      }
      moved.append(own);
    }
    return isMadeOfBlocks(collapse.getSrc(), moved);
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return slice.getSourceType().getRank() == int64_t(extents.size()) &&
           isMadeOfBlocks(slice.getSource(), extents);
  return isa<linalg::FillOp, arith::ConstantOp, tensor::EmptyOp>(op);
}

/// Adds rows before the block's last dimension, as many as there is room for.
/// If a block takes all of them, earlier dimensions follow, so that short heads
/// do not make tiny programs.
void addRows(KernelGrid &grid, RowSums sums) {
  ArrayRef<int64_t> shape = shapeOf(grid.root);
  int64_t inner = grid.blocks.back();
  for (size_t last = shape.size() - 1, d = last; d-- > 0;) {
    int64_t rows = 1;
    while (rows * 2 <= shape[d] &&
           (rows * 2 * inner <= blockElements ||
            (rows * inner % (8 * fourWarps) && rows * inner <= blockElements)))
      rows *= 2;
    if (d + 1 < last) {
      if (sums != RowSums::None || grid.blocks[d + 1] < shape[d + 1])
        return;
      if (shape[d] * inner <= blockElements &&
          shape[d] * inner % fourWarps == 0)
        rows = shape[d];
      grid.blocks[d] = rows;
      if (rows > 1 && !isMadeOfBlocks(grid.root, grid.blocks)) {
        grid.blocks[d] = 1;
        return;
      }
    }
    grid.blocks[d] = rows;
    inner *= rows;
  }
}

/// Blocks of a kernel in which `parts` programs loop over rows. Twice as many
/// rows give few programs more parallel work, but there are never fewer blocks
/// than programs, and no thread gets copies.
void divideRows(KernelGrid &grid, int64_t parts) {
  size_t last = grid.blocks.size() - 1;
  if (last == 0)
    return;
  int64_t &rows = grid.blocks[last - 1], width = grid.blocks[last];
  auto shared = [&](int64_t n, int64_t warps) {
    return n * width % (8 * 32 * warps) == 0;
  };
  if (width > 2 * blockElements) {
    grid.warps = 16;
    return;
  }
  if (rows * 2 * width <= 2 * blockElements && shared(rows * 2, 8) &&
      rows * 2 <= shapeOf(grid.root)[last - 1])
    rows *= 2;
  while (rows > 1 && rows * width > blockElements / 2 &&
         grid.programs() < parts && shared(rows / 2, 4))
    rows /= 2;
  if (shared(rows, 8))
    grid.warps = 8;
}

/// Whether no result is a sum, so that any grid gives the same bits.
bool isElementwise(const KernelResults &results) {
  bool sums = results.parts || !results.added.empty();
  for (Value v : results.stored)
    visitBehind(unshaped(v), [&](linalg::GenericOp op, const Dims &) {
      sums |= op.getNumReductionLoops() > 0;
      return true;
    });
  return !sums;
}

/// Gives an optimizer's update, which stores the parameter and its states,
/// blocks of 8 numbers a thread: with 32, eight warps have all registers of a
/// multiprocessor, and often compute while nobody loads.
void shrink(KernelGrid &grid, const KernelResults &results) {
  constexpr size_t many = 3;
  const size_t last = grid.blocks.size() - 1;
  if (results.stored.size() < many || last == 0 || !isElementwise(results))
    return;
  SmallVector<int64_t> less = grid.blocks;
  int64_t &rows = less[last - 1];
  while (rows % 2 == 0 && rows / 2 * less[last] % (8 * fourWarps) == 0)
    rows /= 2; // no thread gets copies
  if (isMadeOfBlocks(grid.root, less))
    grid.blocks = less;
}

} // namespace

// A program has whole rows where rows are summed, as far as registers allow,
// and else blocks of about `blockElements`.
KernelGrid act::tile::planRows(KernelGrid grid, const KernelResults &results,
                               Dice &dice) {
  ArrayRef<int64_t> shape = shapeOf(grid.root);
  if (shape.empty())
    return grid;
  const int64_t parts = results.parts;
  size_t last = shape.size() - 1;
  RowSums sums = rowSums(grid.root);
  bool whole = shape[last] <= longestRow && sums == RowSums::Along;
  if (sums == RowSums::Along && !whole && !parts && results.added.empty()) {
    grid.goesOverColumns = true;
    grid.blocks[last] = blockElements;
    grid.warps = 8;
    return grid;
  }
  int64_t most = sums == RowSums::Beside ? 16 : 1024;
  grid.blocks[last] =
      whole || shape[last] <= most ? rowExtent(shape[last]) : most;
  if (last > 0 && sums != RowSums::Beside)
    addRows(grid, sums);
  if (grid.blocks[last] > 2 * blockElements)
    grid.warps = 8;
  if (parts)
    divideRows(grid, parts);
  shrink(grid, results);
  if (dice && isElementwise(results)) {
    grid.warps = int64_t(1) << dice(4);
    SmallVector<int64_t> halved = grid.blocks;
    if (last > 0 && halved[last - 1] > 1)
      halved[last - 1] /= 2;
    if (dice(2) && isMadeOfBlocks(grid.root, halved))
      grid.blocks = halved;
  }
  return grid;
}
