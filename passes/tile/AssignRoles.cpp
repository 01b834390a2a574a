// SPDX-License-Identifier: Apache-2.0
//
// Warp specialisation: some warps copy while the others compute.
//
//   scalars, by all warps
//   rings, mbarriers; barrier
//   tile.roles compute {                    copy {
//     the kernel, where a loop of it          the same loops, of indices alone
//       waits until its slot is full            wait until the slot is empty
//       reads it                                copy into it
//       says that it is empty                   say so, once it is there
//   }                                       }
//
// Both sides go through the same iterations in the same order, so each counts
// slots and rounds on its own. Consecutive loops with blocks of the same types
// share a ring; each starts at the slot after the previous loop's last.
//
// Blocks that a tensor map can copy (TMA) are: one thread announces their bytes
// and starts the copies. Where an asynchronous product reads a slot, the slot
// is given back in the next iteration, when that product is complete.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "passes/tile/KnownTarget.h"
#include "passes/tile/Passes.h"
#include "passes/tile/StagedLoads.h"
#include "passes/tile/threads/SharedAddress.h"

namespace act::tile {
#define GEN_PASS_DEF_ASSIGNROLESPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

/// One side's position in a ring: slot and round parity; i32.
struct Position {
  Value slot, parity;
};

/// By whom a ring is filled: threads that copy 16 bytes each, or the copy
/// engine.
enum class Filled { ByThreads, ByEngine };

struct Ring {
  SmallVector<Type> types; // of the blocks of an iteration, slots included
  SmallVector<Value> blocks;
  Value full, empty; // an mbarrier for each slot
  Filled filled = Filled::ByThreads;
  Position compute, copy;
};

struct CopiedLoop {
  scf::ForOp loop;
  SmallVector<StagedLoad> loads;
};

class Roles {
public:
  Roles(gpu::GPUFuncOp kernel, const act::Target &gpu)
      : kernel(kernel), gpu(gpu), body(kernel.getBody().front()),
        schedule(getSchedule(kernel)), b(kernel.getContext()) {}
  void run();

private:
  bool isCopied(scf::ForOp loop, const StagedLoad &staged);
  bool addSlice(ValueRange values);
  bool addSlice(Operation *op);
  void findLoops();
  void makePrefix();
  Filled filledBy(const CopiedLoop &copied) const;
  Ring &ringOf(const CopiedLoop &copied);
  void giveBack(Ring &ring, scf::ForOp loop, Value slot, Value index);
  void compute(const CopiedLoop &copied, Ring &ring);
  void copy(const CopiedLoop &copied, Ring &ring);

  Value number(int64_t v) { return number(v, b); }
  Value number(int64_t v, OpBuilder &at) {
    return arith::ConstantOp::create(at, loc(), at.getI32IntegerAttr(v));
  }
  Value indexOf(Value slot) {
    return arith::IndexCastOp::create(b, loc(), b.getIndexType(), slot);
  }
  /// Values to carry to the next iteration.
  SmallVector<Value> next(Position at, OpBuilder &b);
  Location loc() { return kernel.getLoc(); }

  gpu::GPUFuncOp kernel;
  const act::Target &gpu;
  Block &body;
  ScheduleAttr schedule;
  OpBuilder b;
  SmallVector<CopiedLoop> loops;
  SetVector<Operation *> slice; // ops of `body` that copies need
  std::vector<std::unique_ptr<Ring>> rings;
};

bool Roles::addSlice(ValueRange values) {
  return llvm::all_of(values, [&](Value v) {
    return !v.getDefiningOp() || addSlice(v.getDefiningOp());
  });
}

/// Adds an op of the kernel's body and the ops behind its operands, all scalar,
/// that every warp may execute: arithmetic, and of memory accesses only reading
/// a number and drawing a ticket. These stay ordered after writes.
bool Roles::addSlice(Operation *op) {
  if (slice.contains(op))
    return true;
  if (op->getBlock() != &body || op->getNumRegions() || touchesBlocks(op))
    return false;
  if (!isMemoryEffectFree(op)) {
    if (!isa<LoadOp, TicketOp>(op))
      return false;
    for (Operation &before : llvm::make_range(body.begin(), op->getIterator()))
      if (!isMemoryEffectFree(&before) && !isa<LoadOp>(before) &&
          !addSlice(&before))
        return false;
  }
  if (!addSlice(op->getOperands()))
    return false;
  slice.insert(op);
  return true;
}

/// Whether the copying warps can do this load: everything that its position
/// depends on outside of the loop must be computable by all warps, and nothing
/// in this kernel may write its memory.
bool Roles::isCopied(scf::ForOp loop, const StagedLoad &staged) {
  LoadOp load = staged.load;
  SetVector<Operation *> inside;
  // Data that this kernel writes needs a barrier of the computing warps.
  if (!loop.isDefinedOutsideOfLoop(load.getView()) || isWritten(load, kernel) ||
      llvm::any_of(load.getIndices().getTypes(), llvm::IsaPred<ShapedType>) ||
      failed(sliceOf(loop, load.getIndices(), inside)) ||
      llvm::any_of(inside, touchesBlocks))
    return false;
  // All panels are as wide as the first.
  auto form = sharedForm(ringType(load, schedule.getStages()));
  if (!copyLayout(form, form.panels().front(), schedule.getCopyWarps()))
    return false;
  SmallVector<Value> outside{load.getView()};
  auto collect = [&](ValueRange values) {
    for (Value v : values)
      if (loop.isDefinedOutsideOfLoop(v))
        outside.push_back(v);
  };
  collect(load.getIndices());
  for (Operation *op : inside)
    collect(op->getOperands());
  llvm::append_values(outside, loop.getLowerBound(), loop.getUpperBound(),
                      loop.getStep());
  SetVector<Operation *> before = slice;
  if (addSlice(outside))
    return true;
  slice = std::move(before);
  return false;
}

void Roles::findLoops() {
  for (auto &[parent, loads] : stagedLoads(kernel)) {
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (!loop || loop->getBlock() != &body || loop.getUnsignedCmp())
      continue;
    CopiedLoop copied{loop, {}};
    for (const StagedLoad &staged : loads)
      if (isCopied(loop, staged))
        copied.loads.push_back(staged);
    if (!copied.loads.empty())
      loops.push_back(std::move(copied));
  }
}

/// Moves the copies' dependences to the start, and the builder after them: both
/// regions need these values, so all warps compute them before they part.
void Roles::makePrefix() {
  SmallVector<Operation *> order(slice.begin(), slice.end());
  llvm::sort(order,
             [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  b.setInsertionPointToStart(&body);
  for (Operation *op : order) {
    if (&*b.getInsertionPoint() != op)
      op->moveBefore(&*b.getInsertionPoint());
    b.setInsertionPointAfter(op);
  }
}

/// The copy engine takes all blocks of a loop, or none: one mbarrier counts
/// either bytes or threads.
Filled Roles::filledBy(const CopiedLoop &copied) const {
  auto byEngine = [](const StagedLoad &staged) {
    LoadOp load = staged.load;
    bool hasSwizzle = sharedForm(ringType(load, 1)).panels().front().swizzle !=
                      act::layout::Swizzle::pairs;
    return hasSwizzle && tensorMapFault(load).empty();
  };
  return gpu.features.bulkCopies && llvm::all_of(copied.loads, byEngine)
             ? Filled::ByEngine
             : Filled::ByThreads;
}

/// The ring for a loop's loads, made on first use, with its mbarriers.
Ring &Roles::ringOf(const CopiedLoop &copied) {
  int64_t stages = schedule.getStages();
  SmallVector<Type> types;
  for (const StagedLoad &staged : copied.loads)
    types.push_back(ringType(staged.load, stages));
  // Loops run one after the other, so those with equal blocks share a ring. The
  // copying warps may then run ahead into the next loop.
  const Filled filled = filledBy(copied);
  for (auto &ring : rings)
    if (ring->types == types && ring->filled == filled)
      return *ring;
  auto ring = std::make_unique<Ring>();
  ring->types = types;
  ring->filled = filled;
  auto allocate = [&](Type type) -> Value {
    return AllocSharedOp::create(b, loc(), cast<SharedType>(type),
                                 IntegerAttr());
  };
  for (Type type : types)
    ring->blocks.push_back(allocate(type));
  auto mbarriers = SharedType::get({stages}, b.getI64Type());
  ring->full = allocate(mbarriers);
  ring->empty = allocate(mbarriers);
  // Arrivals per round: every copying thread says that its copies are there, or
  // one thread which bytes to wait for; and one lane of each computing warp
  // that the slot was read.
  MbarrierInitOp::create(
      b, loc(), ring->full,
      filled == Filled::ByEngine ? 1 : 32 * schedule.getCopyWarps());
  MbarrierInitOp::create(b, loc(), ring->empty, schedule.getWarps());
  Value zero = number(0);
  ring->compute = ring->copy = {zero, zero};
  rings.push_back(std::move(ring));
  return *rings.back();
}

// A wait names a phase of the mbarrier by its parity, which changes with each
// round through the ring.
SmallVector<Value> Roles::next(Position at, OpBuilder &b) {
  Value slot = nextSlot(at.slot, schedule.getStages(), b, loc());
  Value wraps = arith::CmpIOp::create(b, loc(), arith::CmpIPredicate::eq, slot,
                                      number(0, b));
  Value other = arith::XOrIOp::create(b, loc(), at.parity, number(1, b));
  Value parity = arith::SelectOp::create(b, loc(), wraps, other, at.parity);
  return {slot, parity};
}

/// The computing side of a loop, changed in place: it carries its position in
/// the ring, waits at the start of an iteration and gives the slot back at the
/// end.
void Roles::compute(const CopiedLoop &copied, Ring &ring) {
  scf::ForOp loop = copied.loop;
  IRRewriter rewriter(b);
  rewriter.setInsertionPoint(loop);
  auto replaced = loop.replaceWithAdditionalYields(
      rewriter, {ring.compute.slot, ring.compute.parity},
      /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &builder, Location, ArrayRef<BlockArgument> carried) {
        return next({carried[0], carried[1]}, builder);
      });
  loop = cast<scf::ForOp>(replaced->getOperation());
  ValueRange carried = loop.getRegionIterArgs().take_back(2);
  ring.compute = {loop.getResults().end()[-2], loop.getResults().end()[-1]};

  b.setInsertionPointToStart(loop.getBody());
  Value slot = indexOf(carried[0]);
  MbarrierWaitOp::create(b, loc(), ring.full, slot, carried[1]);
  // Asynchronous products do not see what threads have copied without a fence.
  if (ring.filled == Filled::ByThreads &&
      llvm::any_of(copied.loads,
                   [](const StagedLoad &s) { return !s.shared.empty(); }))
    FenceSharedOp::create(b, loc());
  for (auto [staged, shared] : llvm::zip(copied.loads, ring.blocks))
    readStaged(staged, shared, slot, b);
  giveBack(ring, loop, carried[0], slot);
}

/// Gives the slots of a loop back: `slot`, as a number and as an index. Not
/// right after the last read, which would wait for it with all operands in
/// registers: dots read theirs one after the other.
void Roles::giveBack(Ring &ring, scf::ForOp loop, Value slot, Value index) {
  Operation *end = loop.getBody()->getTerminator();
  b.setInsertionPoint(end);
  const bool hasOne = schedule.getStages() == 1;
  if (hasOne) // the slot is needed at once
    for (Value v : end->getOperands())
      if (isa<PendingType>(v.getType()))
        AwaitDotOp::create(b, loc(), v);
  if (hasOne || !awaitCarried(loop, b)) {
    MbarrierArriveOp::create(b, loc(), ring.empty, index);
    return;
  }
  // The product of this iteration runs on; that of the last one is complete,
  // and its slot is the one before. The first iteration has none before it.
  auto emptyOf = [&](Value next) {
    Value isFirst = arith::CmpIOp::create(b, loc(), arith::CmpIPredicate::eq,
                                          next, number(0));
    Value before = arith::SubIOp::create(b, loc(), next, number(1));
    before = arith::SelectOp::create(b, loc(), isFirst,
                                     number(schedule.getStages() - 1), before);
    MbarrierArriveOp::create(b, loc(), ring.empty, indexOf(before));
  };
  auto when = [&](arith::CmpIPredicate predicate, Value x, Value y,
                  llvm::function_ref<void()> then) {
    Value is = arith::CmpIOp::create(b, loc(), predicate, x, y);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(
        &scf::IfOp::create(b, loc(), is).getThenRegion().front());
    then();
  };
  when(arith::CmpIPredicate::ne, loop.getInductionVar(), loop.getLowerBound(),
       [&] { emptyOf(slot); });
  b.setInsertionPointAfter(loop);
  for (Value v : loop.getResults())
    if (isa<PendingType>(v.getType()))
      AwaitDotOp::create(b, loc(), v);
  when(arith::CmpIPredicate::slt, loop.getLowerBound(), loop.getUpperBound(),
       [&] { emptyOf(ring.compute.slot); });
}

/// The copying side: a loop with the same bounds that only computes indices and
/// starts copies.
void Roles::copy(const CopiedLoop &copied, Ring &ring) {
  scf::ForOp loop = copied.loop;
  auto mine = scf::ForOp::create(b, loc(), loop.getLowerBound(),
                                 loop.getUpperBound(), loop.getStep(),
                                 ValueRange{ring.copy.slot, ring.copy.parity});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(mine.getBody());
  Position at{mine.getRegionIterArg(0), mine.getRegionIterArg(1)};
  Value slot = indexOf(at.slot);
  // Empty since the previous round, which has the other parity. In the first
  // round nobody has read a slot: a new mbarrier counts the phase before its
  // first as complete, so this wait returns at once.
  Value before = arith::XOrIOp::create(b, loc(), at.parity, number(1));
  MbarrierWaitOp::create(b, loc(), ring.empty, slot, before);
  auto indices = indicesAt(loop, copied.loads, mine.getInductionVar(), b);
  if (ring.filled == Filled::ByEngine) {
    int64_t bytes = 0;
    for (Type type : ring.types)
      bytes += sharedForm(cast<SharedType>(type)).slotBytes();
    MbarrierExpectOp::create(b, loc(), ring.full, slot, bytes);
    for (auto [i, staged] : llvm::enumerate(copied.loads)) {
      LoadOp load = staged.load;
      CopyTensorOp::create(b, load.getLoc(), load.getView(), indices[i],
                           ring.blocks[i], slot, ring.full, slot,
                           load.getExtents());
    }
  } else {
    for (auto [i, staged] : llvm::enumerate(copied.loads))
      copyBlock(staged.load, indices[i], ring.blocks[i], slot,
                schedule.getCopyWarps(), b);
    MbarrierArriveCopiesOp::create(b, loc(), ring.full, slot);
  }
  scf::YieldOp::create(b, loc(), next(at, b));
  ring.copy = {mine.getResult(0), mine.getResult(1)};
}

void Roles::run() {
  if (!schedule.getCopyWarps() || !body.getOps<RolesOp>().empty())
    return;
  findLoops();
  if (loops.empty()) {
    if (!kernel->hasAttr(plannedBytesName)) // nobody chose it by hand
      kernel.emitWarning(
          "has copying warps, but no loop whose blocks they could load: "
          "operands "
          "of dots, loaded in a loop of the kernel's body at indices computed "
          "from scalars, from memory that the kernel does not write");
    // A block size that was given includes the copying warps.
    if (kernel.getKnownBlockSize())
      kernel.setKnownBlockSizeAttr(
          b.getDenseI32ArrayAttr({int32_t(32 * schedule.getWarps()), 1, 1}));
    kernel->setAttr(scheduleName, schedule.withoutRoles());
    return;
  }
  makePrefix();
  SmallVector<Ring *> used;
  for (const CopiedLoop &copied : loops)
    used.push_back(&ringOf(copied));
  // Tickets were exchanged by way of shared memory, maybe the rings' own.
  if (llvm::any_of(slice, llvm::IsaPred<TicketOp>) &&
      llvm::any_of(used, [](Ring *ring) {
        return ring->filled == Filled::ByEngine;
      }))
    FenceSharedOp::create(b, loc());
  BarrierOp::create(b, loc());
  auto roles = RolesOp::create(b, loc());
  Block *compute = b.createBlock(&roles.getCompute()),
        *copy = b.createBlock(&roles.getCopy());
  compute->getOperations().splice(compute->end(), body.getOperations(),
                                  std::next(roles->getIterator()),
                                  body.getTerminator()->getIterator());
  // Copies first: they are made from the loads, which compute() erases.
  b.setInsertionPointToEnd(copy);
  for (auto [copied, ring] : llvm::zip(loops, used))
    this->copy(copied, *ring);
  if (llvm::any_of(
          used, [](Ring *ring) { return ring->filled == Filled::ByThreads; })) {
    CommitCopiesOp::create(b, loc());
    WaitCopiesOp::create(b, loc(), 0); // none may be in flight at the end
  }
  for (auto [copied, ring] : llvm::zip(loops, used))
    this->compute(copied, *ring);
}

struct AssignRoles : act::tile::impl::AssignRolesPassBase<AssignRoles> {
  using AssignRolesPassBase::AssignRolesPassBase;

  void runOnOperation() override {
    auto gpu = knownTarget(target, &getContext());
    if (failed(gpu))
      return signalPassFailure();
    getOperation()->walk([&](gpu::GPUFuncOp kernel) {
      if (kernel.isKernel() && kernel.getBody().hasOneBlock())
        Roles(kernel, **gpu).run();
    });
  }
};

} // namespace
