// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/DotWarps.h"
#include "act/Layout/Mma.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/tile/CarriedBlocks.h"

using namespace mlir;
using namespace act::tile;

namespace {
/// What becomes of an accumulator's rows. They are operands of another product,
/// perhaps of one that takes the block transposed as well, or are reduced.
enum class Rows { Apart, Operands, BothWays, Reduced };
} // namespace

/// Whether an accumulator's row is reduced or becomes a row of another dot's
/// operand. Then one warp should hold the whole row.
static Rows rowsOf(Value v, llvm::SmallPtrSetImpl<Operation *> &seen) {
  Rows rows = Rows::Apart;
  bool transposed = false;
  for (OpOperand &use : v.getUses()) {
    Operation *op = use.getOwner();
    if (!seen.insert(op).second)
      continue;
    if (isa<ReduceOp, ScanOp>(op))
      return Rows::Reduced;
    if (auto dot = dyn_cast<DotOp>(op)) {
      if (use.getOperandNumber() == 0)
        rows = std::max(rows, Rows::Operands);
      if (use.getOperandNumber() < 2)
        continue;
    }
    // After a transpose the rows are columns.
    if (isa<TransOp>(op)) {
      transposed = true;
      continue;
    }
    for (Value r : op->getResults())
      if (isa<RankedTensorType>(r.getType()))
        rows = std::max(rows, rowsOf(r, seen));
    SmallVector<Value> same;
    if (isa<scf::YieldOp>(op))
      aliases(v, same);
    for (Value s : same)
      if (s != v)
        rows = std::max(rows, rowsOf(s, seen));
  }
  return transposed && rows == Rows::Operands ? Rows::BothWays : rows;
}

std::pair<int64_t, int64_t> act::tile::groupsOf(ArrayRef<int64_t> shape,
                                                int64_t groups) {
  for (int64_t m = groups; m >= 1; --m)
    if (groups % m == 0 && shape[0] % (ScheduleAttr::groupRows * m) == 0 &&
        shape[1] % (8 * (groups / m)) == 0)
      return {m, groups / m};
  return {0, 0};
}

bool act::tile::isWgmma(DotOp dot) {
  InstructionAttr chosen = dot.getInstructionAttr();
  return chosen && chosen.getKind() == InstructionKind::Wgmma;
}

bool act::tile::hasGroupProducts(Operation *kernel) {
  return kernel->walk([](DotAsyncOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

bool act::tile::waitsForOthers(Operation *kernel) {
  return kernel
      ->walk([](Operation *op) {
        return isa<TicketOp, WaitTurnOp>(op) ? WalkResult::interrupt()
                                             : WalkResult::advance();
      })
      .wasInterrupted();
}

bool act::tile::isByHand(Operation *kernel) {
  return !kernel->hasAttr(plannedBytesName);
}

/// The products whose first operand is the block, computed on and transposed.
static SmallVector<DotOp> takeTransposed(Value block) {
  SmallVector<DotOp> found;
  SetVector<Value> open;
  llvm::SmallPtrSet<Value, 8> transposed;
  open.insert(block);
  for (size_t i = 0; i < open.size(); ++i)
    for (OpOperand &use : open[i].getUses()) {
      Operation *op = use.getOwner();
      const bool isTransposed = transposed.contains(open[i]);
      if (auto dot = dyn_cast<DotOp>(op)) {
        if (isTransposed && use.getOperandNumber() == 0)
          found.push_back(dot);
        continue;
      }
      if (!isa<TransOp>(op) && !op->hasTrait<OpTrait::Elementwise>())
        continue;
      Value r = op->getResult(0);
      if (isTransposed != isa<TransOp>(op))
        transposed.insert(r);
      open.insert(r);
    }
  return found;
}

/// Warps along the rows and the columns of a product.
static std::pair<int64_t, int64_t> warpsOf(DotOp dot, int64_t warps) {
  ArrayRef<int64_t> shape = dot.getType().getShape();
  // The warps of a group are one below the other.
  if (isWgmma(dot)) {
    auto [m, n] = groupsOf(shape, warps / ScheduleAttr::groupWarps);
    return {m * ScheduleAttr::groupWarps, n};
  }
  llvm::SmallPtrSet<Operation *, 32> seen;
  Rows rows = rowsOf(dot.getResult(), seen);
  // If A comes from another accumulator, its rows stay in their warps.
  SetVector<Operation *> behind;
  auto follow = [&](Value v) {
    if (Operation *op = v.getDefiningOp();
        op && isa<RankedTensorType>(v.getType()))
      behind.insert(op);
  };
  follow(dot.getA());
  for (size_t i = 0; i < behind.size(); ++i) {
    if (isa<DotOp>(behind[i]))
      rows = std::max(rows, Rows::Operands);
    else if (behind[i]->hasTrait<OpTrait::Elementwise>()) {
      llvm::for_each(behind[i]->getOperands(), follow);
      if (llvm::any_of(behind[i]->getUsers(), llvm::IsaPred<TransOp>))
        rows = std::max(rows, Rows::BothWays);
    }
  }
  // An operand goes through shared memory if not all warps stand below each
  // other, or if the block is stored there for the product that takes it
  // transposed.
  const bool whole = rows == Rows::Reduced ||
                     (rows == Rows::Operands && shape[0] % (16 * warps) == 0);
  std::pair<int64_t, int64_t> best{0, 0};
  int64_t least = INT64_MAX;
  // A warp reads the rows of A and the columns of B that its part meets. Its
  // part is whole instructions of 16 x 8.
  for (int64_t m = warps; m >= 1; m /= 2) {
    int64_t n = warps / m;
    if (shape[0] % (16 * m) || shape[1] % (8 * n))
      continue;
    int64_t read = shape[0] / m + shape[1] / n;
    // Rows that one warp holds are reduced by shuffles, and as the operand of
    // the next dot they stay in registers (Mma.h).
    if (whole)
      read = n; // all along the rows if the block is high enough
    if (read < least) {
      least = read;
      best = {m, n};
    }
  }
  return best;
}

/// Whether the block is taken transposed, and warps hold the same columns of it
/// as rows of the products that do so: then few of them exchange elements. It
/// has to hold for all such blocks beside it, which are computed together.
static bool isDealtByColumns(DotOp dot, int64_t warps) {
  if (takeTransposed(dot.getResult()).empty())
    return false;
  return llvm::all_of(dot->getBlock()->getOps<DotOp>(), [&](DotOp block) {
    const int64_t n = warpsOf(block, warps).second;
    return llvm::all_of(takeTransposed(block.getResult()), [&](DotOp reader) {
      return n > 1 && warpsOf(reader, warps).first == n;
    });
  });
}

std::optional<act::Result<act::layout::Distributed>>
act::tile::accumulatorOf(DotOp dot, int64_t warps) {
  auto [m, n] = warpsOf(dot, warps);
  if (!m)
    return std::nullopt;
  auto shape = dot.getType().getShape().vec();
  if (isWgmma(dot))
    return layout::wgmmaAccumulator(std::move(shape), m, n);
  if (shape[1] % (16 * n) == 0 && isDealtByColumns(dot, warps))
    return layout::mmaAccumulatorByColumns(std::move(shape), m, n);
  return layout::mmaAccumulator(std::move(shape), m, n);
}
