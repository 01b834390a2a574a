// SPDX-License-Identifier: Apache-2.0
//
// Turns, by one thread for all. To wait, it waits and a barrier releases the
// others. To pass the turn, a barrier tells it that the others are done. If the
// program has a barrier there anyway, that one does it. The thread's
// acquire and release hold for all of them, because barriers order memory
// accesses before and after them (PTX ISA, memory consistency model: causality
// order).
#include "passes/tile/Layouts.h"
#include "passes/tile/threads/BlockAccess.h"

using namespace mlir;
using namespace act::tile;

namespace {

/// Does `body` in the first thread of a warp, or the role's only one, if it is
/// inside the view.
void once(Value inside, int64_t warp, ThreadBuilder &t,
          function_ref<void()> body) {
  if (t.isOneThread)
    return inside ? t.when(inside, body) : body();
  Value first =
      warp ? arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq,
                                   t.thread, t.i32(32 * warp))
           : t.isZero(t.thread);
  if (inside)
    first = arith::AndIOp::create(t.b, t.loc, first, inside);
  t.when(first, body);
}

/// Whether the program has a barrier before anything that needs the turn.
bool hasBarrierBehind(Operation *wait) {
  for (Operation *op = wait->getNextNode(); op; op = op->getNextNode()) {
    if (isWholeBarrier(op))
      return true;
    if (op->getNumRegions() || isa<AtomicAddOp, StoreOp, WaitTurnOp>(op))
      return false;
  }
  return false;
}

} // namespace

// Outside of the view nothing is waited for, passed or drawn.
LogicalResult act::tile::lowerTurn(Operation *op, ThreadBuilder &t) {
  Value view = op->getOperand(0);
  size_t rank = cast<ViewType>(view.getType()).getRank();
  ValueRange indices = op->getOperands().slice(1, rank);
  SmallVector<int64_t> extents(rank, -1);
  BlockAccess access(view, indices, extents, accessedBlock(t.b.getI32Type(), t),
                     t);
  Value pointer = access.pointer(0), inside = access.inside(0);
  auto at = [&](int64_t operand) {
    return "[$" + std::to_string(operand) + " + " +
           std::to_string(access.offset(0)) + "]";
  };
  if (auto wait = dyn_cast<WaitTurnOp>(op)) {
    Value turn = arith::IndexCastOp::create(t.b, t.loc, t.b.getI32Type(),
                                            t.scalar(wait.getTurn()));
    // Another warp than the one that passes turns: both take long.
    once(inside, t.warps - 1, t, [&] {
      t.inlinePtx(Type(),
                  "{ .reg .pred %wait; .reg .b32 %now; again_${:uid}: "
                  "ld.acquire.gpu.global.b32 %now, " +
                      at(0) +
                      "; setp.ne.s32 %wait, %now, $1; "
                      "@%wait bra again_${:uid}; }",
                  "l,r,~{memory}", {pointer, turn});
    });
    // A thread on its own lets the copy engine add, which is ordered behind
    // what the thread has seen by a fence alone.
    if (t.isOneThread)
      t.inlinePtx(Type(), "fence.proxy.async.global;", "~{memory}", {});
    if (!hasBarrierBehind(op))
      t.barrier();
    return success();
  }
  if (isa<PassTurnOp>(op)) {
    if (!isWholeBarrier(op->getPrevNode()))
      t.barrier();
    once(inside, 0, t, [&] {
      t.inlinePtx(Type(), "red.release.gpu.global.add.u32 " + at(0) + ", 1;",
                  "l,~{memory}", {pointer});
    });
    return success();
  }
  // A ticket: one thread draws it, and the others get it from shared memory.
  Value aside = t.scratch(4);
  once(inside, 0, t, [&] {
    Value ticket =
        t.inlinePtx(t.b.getI32Type(),
                    "atom.relaxed.gpu.global.add.u32 $0, " + at(1) + ", 1;",
                    "=r,l,~{memory}", {pointer});
    LLVM::StoreOp::create(t.b, t.loc, ticket, aside);
  });
  t.barrier();
  Value ticket =
      t.sameInLanes(LLVM::LoadOp::create(t.b, t.loc, t.b.getI32Type(), aside));
  t.scalars.map(op->getResult(0), arith::IndexCastUIOp::create(
                                      t.b, t.loc, t.b.getIndexType(), ticket));
  return success();
}
