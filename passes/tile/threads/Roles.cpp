// SPDX-License-Identifier: Apache-2.0
//
// A branch for each role, and the mbarriers by which they synchronise (PTX ISA,
// mbarrier). The storing warp is one of the copying warps' group. Computing
// warps come first, so the first thread, which acts for all, is among them.
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/tile/threads/SharedAddress.h"

using namespace mlir;
using namespace act::tile;

namespace {

/// Whether one thread can do all of the role's work: copies by the copy engine,
/// and all that a storing warp does.
bool isForOneThread(Region &role) {
  if (&role == &cast<RolesOp>(role.getParentOp()).getStore())
    return true;
  return !role.walk([](Operation *op) {
                bool needsAll = isa<CopyAsyncOp, MbarrierArriveOp,
                                    MbarrierArriveCopiesOp, BarrierOp>(op) ||
                                touchesBlocks(op);
                return needsAll ? WalkResult::interrupt()
                                : WalkResult::advance();
              })
              .wasInterrupted();
}

/// Group `number`'s barrier for turns: the first three are for all warps, and
/// for those of each role.
Value turnBarrier(Value number, ThreadBuilder &t) {
  constexpr int64_t first = 3;
  return t.add(number, t.i32(first));
}

Value groupNumber(ThreadBuilder &t) {
  return arith::DivUIOp::create(t.b, t.loc, t.warp,
                                t.i32(ScheduleAttr::groupWarps));
}

/// The group that waits and the one that arrives: 256 threads.
void awaitGroupTurn(ThreadBuilder &t) {
  t.inlinePtx(Type(), "bar.sync $0, 256;", "r,~{memory}",
              {turnBarrier(groupNumber(t), t)});
}

void passGroupTurn(ThreadBuilder &t) {
  Value next = t.add(groupNumber(t), t.i32(1)),
        groups = t.i32(t.warps / ScheduleAttr::groupWarps);
  Value isLast =
      arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq, next, groups);
  next = arith::SelectOp::create(t.b, t.loc, isLast, t.i32(0), next);
  t.inlinePtx(Type(), "bar.arrive $0, 256;", "r,~{memory}",
              {turnBarrier(next, t)});
}

/// The last group passes the first turn, if the role has some.
void passFirstTurn(Region &role, ThreadBuilder &t) {
  if (!role.walk([](AwaitGroupTurnOp) { return WalkResult::interrupt(); })
           .wasInterrupted())
    return;
  Value isLast =
      arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::uge, t.warp,
                            t.i32(t.warps - ScheduleAttr::groupWarps));
  t.when(isLast, [&] { passGroupTurn(t); });
}

/// For all warps of a group.
void setRegisters(ScheduleAttr schedule, int64_t registers, ThreadBuilder &t) {
  const int64_t entry = schedule.getEntryRegisters(t.registersPerSm);
  if (registers && registers != entry)
    NVVM::SetMaxRegisterOp::create(t.b, t.loc, registers,
                                   registers > entry
                                       ? NVVM::SetMaxRegisterAction::increase
                                       : NVVM::SetMaxRegisterAction::decrease);
}

/// `warps` of them, from number `first` on.
LogicalResult lowerRole(Region &role, int64_t first, int64_t warps,
                        int64_t barrier, ThreadBuilder &t) {
  ThreadBuilder::Role own(t, first, warps, barrier);
  passFirstTurn(role, t);
  if (isForOneThread(role)) {
    LogicalResult done = success();
    t.once([&] {
      t.isOneThread = true;
      done = lowerOps({role.front().begin(), role.front().end()}, t);
      t.isOneThread = false;
    });
    return done;
  }
  return lowerOps({role.front().begin(), role.front().end()}, t);
}

/// A branch on whether the warp's number is so large or larger; the builder
/// goes on in it.
scf::IfOp branchFrom(int64_t warp, ThreadBuilder &t) {
  Value isBehind = arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::uge,
                                         t.warp, t.i32(warp));
  auto branch = scf::IfOp::create(t.b, t.loc, TypeRange(), isBehind,
                                  /*withElseRegion=*/true);
  t.b.setInsertionPointToStart(branch.thenBlock());
  return branch;
}

LogicalResult lowerAll(RolesOp op, ThreadBuilder &t) {
  OpBuilder::InsertionGuard guard(t.b);
  ScheduleAttr schedule = getSchedule(op->getParentOp());
  const int64_t warps = schedule.getWarps(), copying = schedule.getCopyWarps(),
                storing = schedule.getStoreWarps();
  auto branch = branchFrom(warps, t);
  setRegisters(schedule, schedule.getCopyRegisters(), t);
  if (storing) {
    auto stores = branchFrom(warps + copying, t);
    if (!op.getStore().empty() &&
        failed(lowerRole(op.getStore(), warps + copying, storing, 2, t)))
      return failure();
    t.b.setInsertionPointToStart(stores.elseBlock());
  }
  if (failed(lowerRole(op.getCopy(), warps, copying, 2, t)))
    return failure();
  t.b.setInsertionPointToStart(branch.elseBlock());
  setRegisters(schedule, schedule.getComputeRegisters(), t);
  return lowerRole(op.getCompute(), 0, warps, 1, t);
}

/// The op after this one, but for what makes the next ring's memory.
Operation *nextInit(Operation *op) {
  do
    op = op->getNextNode();
  while (isa_and_nonnull<AllocSharedOp>(op));
  return op;
}

} // namespace

LogicalResult act::tile::lowerRoles(Operation *op, ThreadBuilder &t) {
  if (auto roles = dyn_cast<RolesOp>(op))
    return lowerAll(roles, t);
  if (isa<AwaitGroupTurnOp>(op)) {
    awaitGroupTurn(t);
    return success();
  }
  if (isa<PassGroupTurnOp>(op)) {
    passGroupTurn(t);
    return success();
  }
  // Threads arrive on their own: those of a warp may come from different roles.
  if (isa<ClusterBarrierOp>(op)) {
    NVVM::ClusterArriveOp::create(t.b, t.loc, UnitAttr());
    NVVM::ClusterWaitOp::create(t.b, t.loc, UnitAttr());
    return success();
  }
  auto type = cast<SharedType>(op->getOperand(0).getType());
  Value base = t.scalar(op->getOperand(0));
  if (auto init = dyn_cast<MbarrierInitOp>(op)) {
    t.when(t.isZero(t.thread), [&] {
      for (int64_t i = 0; i < type.getNumElements(); ++i) {
        Value at = LLVM::GEPOp::create(
            t.b, t.loc, base.getType(), t.b.getI8Type(), base,
            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(8 * i)});
        NVVM::MBarrierInitOp::create(t.b, t.loc, at, t.i32(init.getArrivals()),
                                     Value());
      }
      // The copy engine sees them only behind this fence, one for all of them.
      if (t.hasTensorCopies && !isa_and_nonnull<MbarrierInitOp>(nextInit(op)))
        t.inlinePtx(Type(), "fence.mbarrier_init.release.cluster;", "~{memory}",
                    {});
    });
    return success();
  }
  Value at = t.mbarrier(op->getOperand(0), op->getOperand(1));
  if (auto expect = dyn_cast<MbarrierExpectOp>(op)) {
    t.once([&] {
      t.inlinePtx(Type(),
                  "mbarrier.arrive.expect_tx.shared.b64 _, [$0], " +
                      std::to_string(expect.getBytes()) + ";",
                  "l,~{memory}", {at});
    });
    return success();
  }
  // try_wait suspends the thread for a while and needs sm_90; test_wait only
  // asks. Both acquire at the scope of the program unless told otherwise.
  if (auto wait = dyn_cast<MbarrierWaitOp>(op)) {
    t.inlinePtx(Type(),
                "{ .reg .pred %over; again_${:uid}: mbarrier." +
                    std::string(t.sleepsAtMbarriers ? "try" : "test") +
                    "_wait.parity" +
                    (wait.getCluster() ? ".acquire.cluster" : "") +
                    ".shared.b64 %over, [$0], $1; "
                    "@!%over bra again_${:uid}; }",
                "l,r,~{memory}", {at, t.scalar(wait.getParity())});
    return success();
  }
  // Every copying thread arrives when its copies are there. The barrier's count
  // already includes these arrivals, hence noinc.
  if (isa<MbarrierArriveCopiesOp>(op)) {
    NVVM::CpAsyncMBarrierArriveOp::create(t.b, t.loc, at, /*noinc=*/true);
    return success();
  }
  // One lane arrives for its warp, once all lanes have read the slot. In a
  // cluster, one arrives in each program, its own included.
  if (cast<MbarrierArriveOp>(op).getCluster()) {
    NVVM::SyncWarpOp::create(t.b, t.loc, t.i32(-1));
    Value arrives = arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::ult,
                                          t.lane, t.i32(clusterOf(op)));
    t.when(arrives, [&] {
      t.inlinePtx(
          Type(),
          "{ .reg .b64 %there; mapa.shared::cluster.u64 %there, $0, $1; "
          "mbarrier.arrive.release.cluster.shared::cluster.b64 _, "
          "[%there]; }",
          "l,r,~{memory}", {at, t.lane});
    });
    return success();
  }
  t.onceInWarp([&] {
    t.inlinePtx(Type(), "mbarrier.arrive.shared.b64 _, [$0];", "l,~{memory}",
                {at});
  });
  return success();
}
