// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/DotWarps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/tile/CarriedBlocks.h"

using namespace mlir;
using namespace act::tile;

/// Whether an accumulator's row is reduced or becomes a row of another dot's
/// operand. Then one warp should hold the whole row.
static bool rowsStayTogether(Value v,
                             llvm::SmallPtrSetImpl<Operation *> &seen) {
  for (OpOperand &use : v.getUses()) {
    Operation *op = use.getOwner();
    if (!seen.insert(op).second)
      continue;
    if (isa<ReduceOp, ScanOp>(op))
      return true;
    if (auto dot = dyn_cast<DotOp>(op)) {
      if (use.getOperandNumber() == 0)
        return true;
      if (use.getOperandNumber() == 1)
        continue;
    }
    // After a transpose the rows are columns.
    if (isa<TransOp>(op))
      continue;
    for (Value r : op->getResults())
      if (isa<RankedTensorType>(r.getType()) && rowsStayTogether(r, seen))
        return true;
    SmallVector<Value> same;
    if (isa<scf::YieldOp>(op))
      aliases(v, same);
    for (Value s : same)
      if (s != v && rowsStayTogether(s, seen))
        return true;
  }
  return false;
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

std::pair<int64_t, int64_t> act::tile::warpsOf(DotOp dot, int64_t warps) {
  ArrayRef<int64_t> shape = dot.getType().getShape();
  // The warps of a group are one below the other.
  if (isWgmma(dot)) {
    auto [m, n] = groupsOf(shape, warps / ScheduleAttr::groupWarps);
    return {m * ScheduleAttr::groupWarps, n};
  }
  llvm::SmallPtrSet<Operation *, 32> seen;
  bool rows = rowsStayTogether(dot.getResult(), seen);
  // If A comes from another accumulator, its rows stay in their warps.
  SetVector<Operation *> behind;
  auto follow = [&](Value v) {
    if (Operation *op = v.getDefiningOp();
        op && isa<RankedTensorType>(v.getType()))
      behind.insert(op);
  };
  follow(dot.getA());
  for (size_t i = 0; i < behind.size() && !rows; ++i) {
    if (isa<DotOp>(behind[i]))
      rows = true;
    else if (behind[i]->hasTrait<OpTrait::Elementwise>())
      llvm::for_each(behind[i]->getOperands(), follow);
  }
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
    if (rows)
      read = n; // all along the rows if the block is high enough
    if (read < least) {
      least = read;
      best = {m, n};
    }
  }
  return best;
}
