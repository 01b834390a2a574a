// SPDX-License-Identifier: Apache-2.0
//
// Additions to memory by a storing warp. The computing warps leave a block in
// shared memory and go on; one thread waits for the turn, lets the copy engine
// add the block and passes the turn.
//
//   compute {                             compute {
//     scf.for %i                            scf.for %i (slot, parity)
//       tile.wait_turn %turns[%i]             wait until the slot is empty
//       tile.atomic_add %part, %v[%i]         store_shared %part; arrive: full
//       tile.pass_turn %turns[%i]     ->  } store {
//   }                                       scf.for %i (slot, parity)
//                                             wait until the slot is full
//                                             wait_turn, reduce_bulk
//                                             arrive: empty; pass_turn
//                                         }
//
// The storing thread goes through the same iterations, so it must know all that
// places and turns depend on. It also has the loops that only pass turns, in
// rows that a mask hides. Other additions stay with the computing warps.
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/tile/DotWarps.h"
#include "passes/tile/Passes.h"
#include "passes/tile/RingPosition.h"
#include "passes/tile/StagedLoads.h"

namespace act::tile {
#define GEN_PASS_DEF_ASSIGNSTORESPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

/// An addition, with the turn that it takes.
struct Added {
  AtomicAddOp add;
  WaitTurnOp wait = {};
  PassTurnOp pass = {};
};

/// The next op in the block that accesses global memory, forward or backward,
/// if it is of this kind.
template <typename Op> Op neighbour(Operation *op, bool isForward) {
  do
    op = isForward ? op->getNextNode() : op->getPrevNode();
  while (
      op && !op->getNumRegions() &&
      !isa<LoadOp, StoreOp, AtomicAddOp, StoreTensorOp, WaitTurnOp, PassTurnOp>(
          op));
  return dyn_cast_or_null<Op>(op);
}

class Stores {
public:
  Stores(gpu::GPUFuncOp kernel, RolesOp roles)
      : kernel(kernel), roles(roles), schedule(getSchedule(kernel)),
        b(kernel.getContext()) {}
  void run();

private:
  bool isKnown(Value v);
  bool isKnown(ValueRange values) {
    return llvm::all_of(values, [&](Value v) { return isKnown(v); });
  }
  bool isInKnownLoops(Operation *op);
  bool isStored(AtomicAddOp add, Added &added);
  bool onlyPasses(scf::ForOp loop);
  bool isShared(Value memory);
  void findAdded();
  void makeRing();
  Value mine(Value v, IRMapping &map);
  SmallVector<Value> mine(ValueRange values, IRMapping &map);
  bool hasAdded(Operation *op);
  void store(Block &from, IRMapping map);
  void store(const Added &added, IRMapping &map);
  void compute(Block &block);
  void compute(const Added &added);
  void pass(scf::ForOp loop, IRMapping &map);

  Location loc() { return roles.getLoc(); }

  gpu::GPUFuncOp kernel;
  RolesOp roles;
  ScheduleAttr schedule;
  OpBuilder b;
  llvm::MapVector<Operation *, Added> all;
  llvm::SetVector<Operation *> passes; // loops that only pass turns
  MemoryRuns runs;                     // of each block, all alike
  Value memory, full, empty;
  RingPosition at;
};

/// Whether the storing thread can know the value, too: from before the roles,
/// or computed from that and from the counters of loops.
bool Stores::isKnown(Value v) {
  if (auto argument = dyn_cast<BlockArgument>(v)) {
    Operation *owner = argument.getOwner()->getParentOp();
    if (!roles->isProperAncestor(owner))
      return true;
    auto loop = dyn_cast<scf::ForOp>(owner);
    return loop && v == loop.getInductionVar();
  }
  Operation *op = v.getDefiningOp();
  return !roles->isProperAncestor(op) ||
         (isMemoryEffectFree(op) && !op->getNumRegions() &&
          !touchesBlocks(op) && isKnown(op->getOperands()));
}

/// Whether the op is in loops alone whose iterations the storing thread knows.
bool Stores::isInKnownLoops(Operation *op) {
  for (Operation *up = op->getParentOp(); up != roles; up = up->getParentOp()) {
    auto loop = dyn_cast<scf::ForOp>(up);
    if (!loop || loop.getUnsignedCmp() ||
        !isKnown({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()}))
      return false;
  }
  return true;
}

/// Whether the loop does nothing but pass turns that the storing thread knows.
bool Stores::onlyPasses(scf::ForOp loop) {
  return loop.getNumResults() == 0 &&
         llvm::all_of(loop.getBody()->without_terminator(), [&](Operation &op) {
           return isa<PassTurnOp>(op)
                      ? isInKnownLoops(&op) && isKnown(op.getOperands())
                      : isMemoryEffectFree(&op) && !op.getNumRegions();
         });
}

bool Stores::isStored(AtomicAddOp add, Added &added) {
  if (!isInKnownLoops(add))
    return false;
  MemoryRuns own;
  if (!isa<RankedTensorType>(add.getValue().getType()) ||
      !memoryRuns(add, own).empty() || isShared(memoryOf(add.getView())) ||
      !isKnown(add->getOperands().drop_front()))
    return false;
  if (!all.empty() && (own.count != runs.count || own.length != runs.length ||
                       own.order != runs.order))
    return false;
  added = {add, neighbour<WaitTurnOp>(add, false),
           neighbour<PassTurnOp>(add, true)};
  runs = std::move(own);
  // A turn is of one addition.
  return !added.wait == !added.pass &&
         (!added.wait || (isKnown(added.wait->getOperands()) &&
                          isKnown(added.pass->getOperands())));
}

/// Whether another op of the kernel reaches the memory: threads are not ordered
/// with what the copy engine adds.
bool Stores::isShared(Value memory) {
  return kernel
      .walk([&](Operation *op) {
        auto access = dyn_cast<BlockAccessOpInterface>(op);
        return access && !isa<AtomicAddOp>(op) &&
                       memoryOf(access.getView()) == memory
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// All additions of the kernel, or none: a turn that the storing warp passes
/// says nothing about those of the others.
void Stores::findAdded() {
  int64_t turns = 0;
  const bool isDone = !roles.getCompute()
                           .walk([&](Operation *op) {
                             turns += isa<WaitTurnOp, PassTurnOp>(op);
                             auto add = dyn_cast<AtomicAddOp>(op);
                             if (!add)
                               return WalkResult::advance();
                             Added added;
                             if (!isStored(add, added))
                               return WalkResult::interrupt();
                             turns -= added.wait ? 2 : 0;
                             all.insert({add, added});
                             return WalkResult::advance();
                           })
                           .wasInterrupted();
  roles.getCompute().walk([&](scf::ForOp loop) {
    auto own = loop.getBody()->getOps<PassTurnOp>();
    if (own.empty() || !onlyPasses(loop))
      return;
    passes.insert(loop);
    turns -= std::distance(own.begin(), own.end());
  });
  if (!isDone || turns)
    all.clear();
}

/// Slots and mbarriers, before the barrier in front of the roles.
void Stores::makeRing() {
  const int64_t stages = schedule.getStages();
  Operation *last = nullptr;
  for (auto init : roles->getBlock()->getOps<MbarrierInitOp>())
    last = init;
  b.setInsertionPoint(roles);
  if (last)
    b.setInsertionPointAfter(last);
  auto allocate = [&](SharedType type) -> Value {
    return AllocSharedOp::create(b, loc(), type, IntegerAttr());
  };
  auto mbarriers = SharedType::get({stages}, b.getI64Type());
  memory = allocate(
      SharedType::get({stages, runs.count, runs.length}, b.getF32Type()));
  full = allocate(mbarriers);
  empty = allocate(mbarriers);
  MbarrierInitOp::create(b, loc(), full, schedule.getWarps());
  MbarrierInitOp::create(b, loc(), empty, 1);
  if (!last)
    BarrierOp::create(b, loc());
}

/// The value in the region that stores.
Value Stores::mine(Value v, IRMapping &map) {
  if (Value known = map.lookupOrNull(v))
    return known;
  Operation *op = v.getDefiningOp();
  if (!op || !roles->isProperAncestor(op))
    return v;
  for (Value o : op->getOperands())
    map.map(o, mine(o, map));
  b.clone(*op, map);
  return map.lookup(v);
}

SmallVector<Value> Stores::mine(ValueRange values, IRMapping &map) {
  return llvm::map_to_vector(values, [&](Value v) { return mine(v, map); });
}

bool Stores::hasAdded(Operation *op) {
  return op
      ->walk([&](AtomicAddOp add) {
        return all.contains(add) ? WalkResult::interrupt()
                                 : WalkResult::advance();
      })
      .wasInterrupted();
}

/// What the storing thread does for a block: the same loops, with nothing but
/// additions.
void Stores::store(Block &from, IRMapping map) {
  for (Operation &op : from) {
    if (all.contains(&op)) {
      store(all[&op], map);
      continue;
    }
    auto loop = dyn_cast<scf::ForOp>(op);
    if (passes.contains(&op))
      pass(loop, map);
    if (!loop || !hasAdded(loop))
      continue;
    auto own = scf::ForOp::create(b, loc(), mine(loop.getLowerBound(), map),
                                  mine(loop.getUpperBound(), map),
                                  mine(loop.getStep(), map), at.carried());
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(own.getBody());
      IRMapping within = map; // what is computed in the loop is not behind it
      within.map(loop.getInductionVar(), own.getInductionVar());
      at = at.at(own.getRegionIterArgs());
      store(*loop.getBody(), within);
      scf::YieldOp::create(b, loc(), at.carried());
    }
    at = at.at(own.getResults());
  }
}

/// A loop that only passes turns.
void Stores::pass(scf::ForOp loop, IRMapping &map) {
  auto own = scf::ForOp::create(
      b, loop.getLoc(), mine(loop.getLowerBound(), map),
      mine(loop.getUpperBound(), map), mine(loop.getStep(), map));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(own.getBody());
  IRMapping within = map;
  within.map(loop.getInductionVar(), own.getInductionVar());
  for (auto pass : loop.getBody()->getOps<PassTurnOp>())
    PassTurnOp::create(b, pass.getLoc(), mine(pass.getView(), within),
                       mine(pass.getIndices(), within));
}

void Stores::store(const Added &added, IRMapping &map) {
  AtomicAddOp add = added.add;
  Value slot = at.slot(b, loc());
  MbarrierWaitOp::create(b, loc(), full, slot, at.parity(b, loc()));
  if (WaitTurnOp wait = added.wait)
    WaitTurnOp::create(b, wait.getLoc(), mine(wait.getView(), map),
                       mine(wait.getIndices(), map), mine(wait.getTurn(), map));
  ReduceBulkOp::create(b, add.getLoc(), memory, slot, mine(add.getView(), map),
                       mine(add.getIndices(), map), add.getExtents());
  WaitStoresOp::create(b, loc(), memory, /*complete=*/false);
  MbarrierArriveOp::create(b, loc(), empty, slot);
  if (PassTurnOp pass = added.pass) {
    WaitStoresOp::create(b, loc(), memory, /*complete=*/true);
    PassTurnOp::create(b, pass.getLoc(), mine(pass.getView(), map),
                       mine(pass.getIndices(), map));
  }
  at = at.next(b, loc());
}

/// The computing side of a block, changed in place.
void Stores::compute(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (all.contains(&op)) {
      compute(all[&op]);
      continue;
    }
    if (passes.contains(&op)) {
      op.erase();
      continue;
    }
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop || !hasAdded(loop))
      continue;
    IRRewriter rewriter(loop);
    auto replaced = loop.replaceWithAdditionalYields(
        rewriter, at.carried(), /*replaceInitOperandUsesInLoop=*/false,
        [](OpBuilder &, Location, ArrayRef<BlockArgument> carried) {
          return SmallVector<Value>(carried);
        });
    loop = cast<scf::ForOp>(replaced->getOperation());
    const size_t count = at.carried().size();
    at = at.at(ValueRange(loop.getRegionIterArgs()).take_back(count));
    compute(*loop.getBody());
    Operation *yield = loop.getBody()->getTerminator();
    yield->setOperands(yield->getNumOperands() - count, count, at.carried());
    at = at.at(loop.getResults().take_back(count));
  }
}

void Stores::compute(const Added &added) {
  AtomicAddOp add = added.add;
  b.setInsertionPoint(add);
  Value slot = at.slot(b, loc());
  // Empty since the round before, which has the other parity; a new mbarrier
  // counts that round as complete.
  MbarrierWaitOp::create(b, loc(), empty, slot, at.otherParity(b, loc()));
  StoreSharedOp::create(b, add.getLoc(), add.getValue(), memory, slot,
                        b.getDenseI64ArrayAttr(SmallVector<int64_t>(
                            runs.order.begin(), runs.order.end())));
  FenceSharedOp::create(b, loc());
  MbarrierArriveOp::create(b, loc(), full, slot);
  at = at.next(b, loc());
}

void Stores::run() {
  findAdded();
  if (all.empty()) {
    if (isByHand(kernel))
      kernel.emitWarning(
          "has a storing warp, but no block that it could add to memory: all "
          "that are added are runs of contiguous f32, in no branch, at places "
          "and in turns that follow from scalars");
    return;
  }
  makeRing();
  b.setInsertionPoint(roles);
  const RingPosition start =
      RingPosition::first(schedule.getStages(), b, loc());
  at = start;
  b.createBlock(&roles.getStore());
  store(roles.getCompute().front(), IRMapping());
  at = start;
  compute(roles.getCompute().front());
  for (auto &[op, added] : all) {
    if (added.wait) {
      added.wait.erase();
      added.pass.erase();
    }
    op->erase();
  }
  mergeEqualCounts(roles.getCompute());
}

struct AssignStores : act::tile::impl::AssignStoresPassBase<AssignStores> {
  void runOnOperation() override {
    getOperation()->walk([](RolesOp roles) {
      auto kernel = cast<gpu::GPUFuncOp>(roles->getParentOp());
      if (!getSchedule(kernel).getStoreWarps() || !roles.getStore().empty())
        return;
      Stores(kernel, roles).run();
    });
  }
};

} // namespace
