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
// and starts the copies. Blocks that the same products read have mbarriers of
// their own, a channel: an asynchronous product waits for its operands alone,
// and they are given back when it is complete, which may be in the next
// iteration. Loops around a loop are repeated on both sides.
//
// Blocks that the programs of a cluster have in common are copied by all of
// them together (Multicast.h). A slot of such a channel is empty when the
// computing warps of all programs have said so.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "passes/tile/DotWarps.h"
#include "passes/tile/KnownTarget.h"
#include "passes/tile/Multicast.h"
#include "passes/tile/Passes.h"
#include "passes/tile/RingPosition.h"
#include "passes/tile/StagedLoads.h"
#include "passes/tile/threads/SharedAddress.h"
#include <set>

namespace act::tile {
#define GEN_PASS_DEF_ASSIGNROLESPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

/// By whom a ring is filled: threads that copy 16 bytes each, or the copy
/// engine.
enum class Filled { ByThreads, ByEngine };

/// Blocks of an iteration that are waited for together, by number.
struct Channel {
  SmallVector<unsigned> blocks;
  Value full = {}, empty = {}; // an mbarrier for each slot
};

struct Ring {
  SmallVector<Type> types; // of the blocks of an iteration, slots included
  SmallVector<Value> blocks;
  SmallVector<bool> multicast; // by block
  SmallVector<Channel> channels;
  Filled filled = Filled::ByThreads;
  RingPosition compute, copy;

  /// Whether programs of a cluster fill the channel's slots together.
  bool isMulticast(const Channel &channel) const {
    return llvm::any_of(channel.blocks,
                        [&](unsigned i) { return multicast[i]; });
  }
};

struct CopiedLoop {
  scf::ForOp loop;
  SmallVector<StagedLoad> loads;
  SmallVector<bool> multicast; // by load
  SmallVector<Channel> channels;
  Ring *ring = nullptr;
};

/// The asynchronous products that read the block. Nothing if others read it.
std::optional<std::set<Operation *>> productsOf(const StagedLoad &staged) {
  if (!staged.conversions.empty())
    return std::nullopt;
  std::set<Operation *> products;
  SmallVector<Value> memories;
  for (ToSharedOp op : staged.shared)
    memories.push_back(op.getResult());
  while (!memories.empty())
    for (Operation *user : memories.pop_back_val().getUsers())
      if (auto view = dyn_cast<SharedViewOp>(user))
        memories.push_back(view.getResult());
      else if (isa<DotAsyncOp>(user))
        products.insert(user);
      else
        return std::nullopt;
  return products;
}

/// A row of numbers beside the operands, such as attention's log-sum-exp.
bool isRow(const StagedLoad &staged) {
  LoadOp load = staged.load;
  return cast<RankedTensorType>(load.getType()).getRank() == 1;
}

/// Loads of a loop by what reads them; all together if threads do. Rows come
/// with the first ones.
SmallVector<Channel> channelsOf(ArrayRef<StagedLoad> loads) {
  SmallVector<Channel> channels;
  std::vector<std::set<Operation *>> readers;
  for (auto [i, staged] : llvm::enumerate(loads)) {
    if (isRow(staged))
      continue;
    auto products = productsOf(staged);
    if (!products) {
      Channel &all = channels.emplace_back();
      all.blocks.assign(llvm::to_vector(llvm::seq<unsigned>(0, loads.size())));
      return {all};
    }
    const size_t known = llvm::find(readers, *products) - readers.begin();
    if (known == readers.size()) {
      readers.push_back(*products);
      channels.emplace_back();
    }
    channels[known].blocks.push_back(i);
  }
  for (auto [i, staged] : llvm::enumerate(loads))
    if (isRow(staged))
      channels.front().blocks.push_back(i);
  return channels;
}

class Roles {
public:
  Roles(gpu::GPUFuncOp kernel, const act::Target &gpu)
      : kernel(kernel), gpu(gpu), body(kernel.getBody().front()),
        schedule(getSchedule(kernel)), b(kernel.getContext()) {}
  void run();

private:
  bool isCopied(scf::ForOp loop, LoadOp load);
  void addRows(CopiedLoop &copied);
  bool addSlice(ValueRange values);
  bool addSlice(Operation *op);
  bool isKnown(Value v);
  void findLoops();
  void makePrefix();
  Filled filledBy(const CopiedLoop &copied) const;
  Ring &ringOf(const CopiedLoop &copied);
  void await(const CopiedLoop &copied, scf::ForOp loop, Value slot,
             Value parity);
  void giveBack(const CopiedLoop &copied, scf::ForOp loop,
                const RingPosition &now, Value index);
  void compute(const CopiedLoop &copied);
  void copy(const CopiedLoop &copied, IRMapping &map);
  void computeAll(Block &block);
  void copyAll(Block &block, IRMapping &map);
  Value onCopySide(Value v, IRMapping &map);
  /// The copied loop that the op is, or nothing.
  CopiedLoop *copiedAt(Operation *op);
  /// The rings of the loops inside.
  SmallVector<Ring *> ringsIn(scf::ForOp outer);

  Value number(int64_t v) { return number(v, b); }
  Value number(int64_t v, OpBuilder &at) {
    return arith::ConstantOp::create(at, loc(), at.getI32IntegerAttr(v));
  }
  Value indexOf(Value slot) {
    return arith::IndexCastOp::create(b, loc(), b.getIndexType(), slot);
  }
  Location loc() { return kernel.getLoc(); }

  gpu::GPUFuncOp kernel;
  const act::Target &gpu;
  Block &body;
  ScheduleAttr schedule;
  OpBuilder b;
  std::vector<CopiedLoop> loops;
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

/// Whether the copying warps can know a value that is defined outside of a
/// copied loop: from the kernel's body, or computed in the loops around it.
bool Roles::isKnown(Value v) {
  if (auto argument = dyn_cast<BlockArgument>(v)) {
    auto outer = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return !outer || v == outer.getInductionVar();
  }
  Operation *op = v.getDefiningOp();
  if (op->getBlock() == &body)
    return addSlice(op);
  return isMemoryEffectFree(op) && !op->getNumRegions() && !touchesBlocks(op) &&
         llvm::all_of(op->getOperands(), [&](Value o) { return isKnown(o); });
}

/// Whether the copying warps can do this load: everything that its position
/// depends on outside of the loop must be computable by all warps, and nothing
/// in this kernel may write its memory.
bool Roles::isCopied(scf::ForOp loop, LoadOp load) {
  SetVector<Operation *> inside;
  // Data that this kernel writes needs a barrier of the computing warps.
  if (!loop.isDefinedOutsideOfLoop(load.getView()) || isWritten(load, kernel) ||
      llvm::any_of(load.getIndices().getTypes(), llvm::IsaPred<ShapedType>) ||
      failed(sliceOf(loop, load.getIndices(), inside)) ||
      llvm::any_of(inside, touchesBlocks))
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
  for (auto outer = dyn_cast<scf::ForOp>(loop->getParentOp()); outer;
       outer = dyn_cast<scf::ForOp>(outer->getParentOp()))
    llvm::append_values(outside, outer.getLowerBound(), outer.getUpperBound(),
                        outer.getStep());
  SetVector<Operation *> before = slice;
  if (llvm::all_of(outside, [&](Value v) { return isKnown(v); }))
    return true;
  slice = std::move(before);
  return false;
}

void Roles::findLoops() {
  for (auto &[parent, loads] : stagedLoads(kernel)) {
    auto loop = dyn_cast<scf::ForOp>(parent);
    auto outermost = loop;
    while (outermost && outermost->getBlock() != &body)
      outermost = dyn_cast<scf::ForOp>(outermost->getParentOp());
    if (!outermost || loop.getUnsignedCmp())
      continue;
    CopiedLoop copied{loop};
    for (const StagedLoad &staged : loads) {
      // All panels are as wide as the first.
      auto form = sharedForm(ringType(staged.load, schedule.getStages()));
      if (copyLayout(form, form.panels().front(), schedule.getCopyWarps()) &&
          isCopied(loop, staged.load))
        copied.loads.push_back(staged);
    }
    if (copied.loads.empty())
      continue;
    addRows(copied);
    copied.channels = channelsOf(copied.loads);
    copied.multicast.assign(copied.loads.size(), false);
    if (filledBy(copied) == Filled::ByEngine)
      copied.multicast = multicastLoads(loop, copied.loads);
    loops.push_back(std::move(copied));
  }
  // Of loops in each other, the inner ones have most of the blocks.
  DenseSet<Operation *> outer;
  for (const CopiedLoop &copied : loops)
    for (auto around = copied.loop->getParentOfType<scf::ForOp>(); around;
         around = around->getParentOfType<scf::ForOp>())
      outer.insert(around);
  llvm::erase_if(loops, [&](const CopiedLoop &copied) {
    return outer.contains(copied.loop);
  });
}

/// The copy engine brings rows, too: they are in shared memory when they are
/// needed, not in registers before.
void Roles::addRows(CopiedLoop &copied) {
  constexpr int64_t longest = 256; // of a box
  if (filledBy(copied) != Filled::ByEngine)
    return;
  for (LoadOp load : copied.loop.getBody()->getOps<LoadOp>()) {
    auto row = dyn_cast<RankedTensorType>(load.getType());
    if (row && row.getRank() == 1 && row.getElementTypeBitWidth() >= 32 &&
        row.getDimSize(0) <= longest && !load.getPad() &&
        tensorMapFault(load).empty() && isCopied(copied.loop, load))
      copied.loads.push_back({load, {}, {}});
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
  auto haveSameBlocks = [](const Channel &x, const Channel &y) {
    return x.blocks == y.blocks;
  };
  for (auto &ring : rings)
    if (ring->types == types && ring->filled == filled &&
        ring->multicast == copied.multicast &&
        ring->channels.size() == copied.channels.size() &&
        llvm::all_of_zip(ring->channels, copied.channels, haveSameBlocks))
      return *ring;
  auto ring = std::make_unique<Ring>();
  ring->types = types;
  ring->filled = filled;
  ring->multicast = copied.multicast;
  auto allocate = [&](Type type) -> Value {
    return AllocSharedOp::create(b, loc(), cast<SharedType>(type),
                                 IntegerAttr());
  };
  for (Type type : types)
    ring->blocks.push_back(allocate(type));
  auto mbarriers = SharedType::get({stages}, b.getI64Type());
  ring->channels = copied.channels;
  for (Channel &channel : ring->channels) {
    channel.full = allocate(mbarriers);
    channel.empty = allocate(mbarriers);
    // Arrivals per round: every copying thread says that its copies are there,
    // or one thread which bytes to wait for; and one lane of each computing
    // warp, of all programs that copy together, that the slot was read.
    MbarrierInitOp::create(
        b, loc(), channel.full,
        filled == Filled::ByEngine ? 1 : 32 * schedule.getCopyWarps());
    MbarrierInitOp::create(b, loc(), channel.empty,
                           schedule.getWarps() * (ring->isMulticast(channel)
                                                      ? schedule.getCluster()
                                                      : 1));
  }
  ring->compute = ring->copy = RingPosition::first(stages, b, loc());
  rings.push_back(std::move(ring));
  return *rings.back();
}

/// The computing side of a loop, changed in place: it carries its position in
/// the ring, waits before the first read and gives the slot back.
void Roles::compute(const CopiedLoop &copied) {
  scf::ForOp loop = copied.loop;
  Ring &ring = *copied.ring;
  IRRewriter rewriter(b);
  rewriter.setInsertionPoint(loop);
  const RingPosition before = ring.compute;
  const size_t count = before.carried().size();
  auto replaced = loop.replaceWithAdditionalYields(
      rewriter, before.carried(), /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &builder, Location, ArrayRef<BlockArgument> carried) {
        const RingPosition next =
            before.at(ValueRange(carried)).next(builder, loc());
        return SmallVector<Value>(next.carried());
      });
  loop = cast<scf::ForOp>(replaced->getOperation());
  const RingPosition now =
      before.at(ValueRange(loop.getRegionIterArgs()).take_back(count));
  ring.compute = before.at(loop.getResults().take_back(count));

  b.setInsertionPointToStart(loop.getBody());
  Value slot = now.slot(b, loc());
  await(copied, loop, slot, now.parity(b, loc()));
  for (auto [staged, shared] : llvm::zip(copied.loads, ring.blocks))
    readStaged(staged, shared, slot, b);
  giveBack(copied, loop, now, slot);
}

/// Waits for each channel's blocks: the first at once, others where they are
/// read.
void Roles::await(const CopiedLoop &copied, scf::ForOp loop, Value slot,
                  Value parity) {
  for (const Channel &channel : copied.ring->channels) {
    OpBuilder::InsertionGuard guard(b);
    if (&channel != &copied.ring->channels.front()) {
      Operation *first = nullptr;
      for (unsigned i : channel.blocks) {
        const auto products = productsOf(copied.loads[i]);
        for (Operation *dot : *products)
          if (Operation *own = loop.getBody()->findAncestorOpInBlock(*dot);
              !first || own->isBeforeInBlock(first))
            first = own;
      }
      b.setInsertionPoint(first);
    }
    MbarrierWaitOp::create(b, loc(), channel.full, slot, parity);
    // Asynchronous products do not see what threads have copied without a
    // fence.
    if (copied.ring->filled == Filled::ByThreads &&
        llvm::any_of(copied.loads,
                     [](const StagedLoad &s) { return !s.shared.empty(); }))
      FenceSharedOp::create(b, loc());
  }
}

/// The last wait in the loop's body for a product that reads the channel's
/// blocks, or read of a row; null if there may be none.
static Operation *lastWait(const Channel &channel, ValueRange blocks,
                           scf::ForOp loop) {
  Operation *last = nullptr;
  SmallVector<Value> values;
  for (unsigned i : channel.blocks)
    values.push_back(blocks[i]);
  while (!values.empty())
    for (Operation *user : values.pop_back_val().getUsers()) {
      if (!loop->isProperAncestor(user) || isa<MbarrierWaitOp>(user))
        continue;
      auto read = dyn_cast<LoadSharedOp>(user);
      const bool readsRow =
          read && cast<RankedTensorType>(read.getType()).getDimSize(0) == 1;
      if (isa<SharedViewOp, DotAsyncOp>(user)) {
        values.push_back(user->getResult(0));
        continue;
      }
      if ((!isa<DotResultOp>(user) && !readsRow) ||
          user->getBlock() != loop.getBody())
        return nullptr;
      if (!last || last->isBeforeInBlock(user))
        last = user;
    }
  return last;
}

/// Gives the slots of a loop back: `index`, which is `now`'s. Where
/// threads read it, not right after the last read, which would wait for it with
/// all operands in registers: dots read theirs one after the other.
void Roles::giveBack(const CopiedLoop &copied, scf::ForOp loop,
                     const RingPosition &now, Value index) {
  Ring &ring = *copied.ring;
  Operation *end = loop.getBody()->getTerminator();
  b.setInsertionPoint(end);
  const bool hasOne = schedule.getStages() == 1;
  if (hasOne) // the slot is needed at once
    for (Value v : end->getOperands())
      if (isa<PendingType>(v.getType()))
        AwaitDotOp::create(b, loc(), v);
  if (hasOne || !awaitCarried(loop, b)) {
    for (const Channel &channel : ring.channels) {
      OpBuilder::InsertionGuard guard(b);
      if (Operation *last = lastWait(channel, ring.blocks, loop))
        b.setInsertionPointAfter(last);
      MbarrierArriveOp::create(b, loc(), channel.empty, index,
                               ring.isMulticast(channel));
    }
    return;
  }
  // The product of this iteration runs on; that of the last one is complete,
  // and its slot is the one before. The first iteration has none before it.
  auto emptyOf = [&](const RingPosition &next) {
    Value at = next.slotBefore(b, loc());
    for (const Channel &channel : ring.channels)
      MbarrierArriveOp::create(b, loc(), channel.empty, at,
                               ring.isMulticast(channel));
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
       [&] { emptyOf(now); });
  // What is loaded for the sums is under way while the last products run.
  Operation *before = loop;
  while (isa_and_nonnull<LoadOp>(before->getNextNode()))
    before = before->getNextNode();
  b.setInsertionPointAfter(before);
  for (Value v : loop.getResults())
    if (isa<PendingType>(v.getType()))
      AwaitDotOp::create(b, loc(), v);
  when(arith::CmpIPredicate::slt, loop.getLowerBound(), loop.getUpperBound(),
       [&] { emptyOf(ring.compute); });
}

/// `v`, computed again if it is computed in a loop around a copied one.
Value Roles::onCopySide(Value v, IRMapping &map) {
  if (Value mine = map.lookupOrNull(v))
    return mine;
  Operation *op = v.getDefiningOp();
  if (!op || !op->getParentOfType<scf::ForOp>())
    return v;
  for (Value o : op->getOperands())
    map.map(o, onCopySide(o, map));
  b.clone(*op, map);
  return map.lookup(v);
}

/// The copying side: a loop with the same bounds that only computes indices and
/// starts copies.
void Roles::copy(const CopiedLoop &copied, IRMapping &map) {
  scf::ForOp loop = copied.loop;
  Ring &ring = *copied.ring;
  SetVector<Operation *> inside;
  for (const StagedLoad &staged : copied.loads) {
    LoadOp load = staged.load;
    (void)sliceOf(loop, load.getIndices(), inside);
    llvm::for_each(load.getOperands(), [&](Value v) {
      if (loop.isDefinedOutsideOfLoop(v))
        map.map(v, onCopySide(v, map));
    });
  }
  for (Operation *op : inside)
    for (Value v : op->getOperands())
      if (loop.isDefinedOutsideOfLoop(v))
        map.map(v, onCopySide(v, map));
  auto mine =
      scf::ForOp::create(b, loc(), onCopySide(loop.getLowerBound(), map),
                         onCopySide(loop.getUpperBound(), map),
                         onCopySide(loop.getStep(), map), ring.copy.carried());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(mine.getBody());
  const RingPosition at = ring.copy.at(mine.getRegionIterArgs());
  Value slot = at.slot(b, loc());
  // Empty since the previous round, which has the other parity. In the first
  // round nobody has read a slot: a new mbarrier counts the phase before its
  // first as complete, so this wait returns at once.
  Value before = at.otherParity(b, loc());
  auto indices = indicesAt(loop, copied.loads, mine.getInductionVar(), b, map);
  for (const Channel &channel : ring.channels) {
    MbarrierWaitOp::create(b, loc(), channel.empty, slot, before,
                           ring.isMulticast(channel));
    if (ring.filled == Filled::ByEngine) {
      int64_t bytes = 0;
      for (unsigned i : channel.blocks) {
        const auto form = sharedForm(cast<SharedType>(ring.types[i]));
        bytes += form.rows() * form.columns() * form.elementBytes();
      }
      MbarrierExpectOp::create(b, loc(), channel.full, slot, bytes);
    }
    for (unsigned i : channel.blocks) {
      LoadOp load = copied.loads[i].load;
      Value view = map.lookupOrDefault(load.getView());
      if (ring.filled == Filled::ByEngine)
        CopyTensorOp::create(b, load.getLoc(), view, indices[i], ring.blocks[i],
                             slot, channel.full, slot, load.getExtents(),
                             ring.multicast[i]);
      else
        copyBlock(load, view, indices[i], ring.blocks[i], slot,
                  schedule.getCopyWarps(), b);
    }
    if (ring.filled == Filled::ByThreads)
      MbarrierArriveCopiesOp::create(b, loc(), channel.full, slot);
  }
  scf::YieldOp::create(b, loc(), at.next(b, loc()).carried());
  ring.copy = at.at(mine.getResults());
}

CopiedLoop *Roles::copiedAt(Operation *op) {
  auto it = llvm::find_if(
      loops, [&](const CopiedLoop &copied) { return copied.loop == op; });
  return it == loops.end() ? nullptr : &*it;
}

SmallVector<Ring *> Roles::ringsIn(scf::ForOp outer) {
  llvm::SmallSetVector<Ring *, 2> inside;
  for (const CopiedLoop &copied : loops)
    if (outer->isProperAncestor(copied.loop))
      inside.insert(copied.ring);
  return inside.takeVector();
}

static SmallVector<Value> positions(ArrayRef<Ring *> rings,
                                    RingPosition Ring::*side) {
  SmallVector<Value> all;
  for (Ring *ring : rings)
    llvm::append_range(all, (ring->*side).carried());
  return all;
}

static void setPositions(ArrayRef<Ring *> rings, RingPosition Ring::*side,
                         ValueRange all) {
  for (Ring *ring : rings) {
    RingPosition &position = ring->*side;
    const size_t count = position.carried().size();
    position = position.at(all.take_front(count));
    all = all.drop_front(count);
  }
}

/// The copying side of a block: copied loops, and loops around them.
void Roles::copyAll(Block &block, IRMapping &map) {
  for (Operation &op : block) {
    auto outer = dyn_cast<scf::ForOp>(op);
    if (!outer)
      continue;
    if (CopiedLoop *copied = copiedAt(outer)) {
      copy(*copied, map);
      continue;
    }
    SmallVector<Ring *> inside = ringsIn(outer);
    if (inside.empty())
      continue;
    auto mine = scf::ForOp::create(
        b, loc(), onCopySide(outer.getLowerBound(), map),
        onCopySide(outer.getUpperBound(), map),
        onCopySide(outer.getStep(), map), positions(inside, &Ring::copy));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(mine.getBody());
      // What is computed in this loop is not there after it.
      IRMapping within = map;
      within.map(outer.getInductionVar(), mine.getInductionVar());
      setPositions(inside, &Ring::copy, mine.getRegionIterArgs());
      copyAll(*outer.getBody(), within);
      scf::YieldOp::create(b, loc(), positions(inside, &Ring::copy));
    }
    setPositions(inside, &Ring::copy, mine.getResults());
  }
}

/// The computing side of a block.
void Roles::computeAll(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto outer = dyn_cast<scf::ForOp>(op);
    if (!outer)
      continue;
    if (CopiedLoop *copied = copiedAt(outer)) {
      compute(*copied);
      continue;
    }
    SmallVector<Ring *> inside = ringsIn(outer);
    if (inside.empty())
      continue;
    const size_t before = outer.getNumRegionIterArgs();
    IRRewriter rewriter(b);
    rewriter.setInsertionPoint(outer);
    auto replaced = outer.replaceWithAdditionalYields(
        rewriter, positions(inside, &Ring::compute),
        /*replaceInitOperandUsesInLoop=*/false,
        [](OpBuilder &, Location, ArrayRef<BlockArgument> carried) {
          return SmallVector<Value>(carried);
        });
    outer = cast<scf::ForOp>(replaced->getOperation());
    setPositions(inside, &Ring::compute,
                 outer.getRegionIterArgs().drop_front(before));
    computeAll(*outer.getBody());
    outer.getBody()->getTerminator()->setOperands(
        before, outer.getNumRegionIterArgs() - before,
        positions(inside, &Ring::compute));
    setPositions(inside, &Ring::compute, outer.getResults().drop_front(before));
  }
}

void Roles::run() {
  if (!schedule.getCopyWarps() || !body.getOps<RolesOp>().empty())
    return;
  if (schedule.getStoreWarps() && !gpu.features.bulkCopies) {
    if (isByHand(kernel))
      kernel.emitWarning("has a storing warp, but ")
          << gpu.name
          << " has no engine that adds to memory: all threads do, and the warp "
             "copies";
    schedule = schedule.withoutStores();
    kernel->setAttr(scheduleName, schedule);
  }
  findLoops();
  if (loops.empty()) {
    if (isByHand(kernel))
      kernel.emitWarning(
          "has copying warps, but no loop whose blocks they could load: "
          "operands "
          "of dots, loaded in a loop at indices computed from scalars, from "
          "memory that the kernel does not write");
    // A block size that was given includes the copying warps.
    if (kernel.getKnownBlockSize())
      kernel.setKnownBlockSizeAttr(
          b.getDenseI32ArrayAttr({int32_t(32 * schedule.getWarps()), 1, 1}));
    kernel->setAttr(scheduleName, schedule.withoutRoles());
    return;
  }
  makePrefix();
  for (CopiedLoop &copied : loops)
    copied.ring = &ringOf(copied);
  auto isFilled = [&](Filled by) {
    return llvm::any_of(rings,
                        [&](const auto &ring) { return ring->filled == by; });
  };
  // Tickets were exchanged by way of shared memory, maybe the rings' own.
  if (llvm::any_of(slice, llvm::IsaPred<TicketOp>) &&
      isFilled(Filled::ByEngine))
    FenceSharedOp::create(b, loc());
  const bool isCluster = llvm::any_of(rings, [](const auto &ring) {
    return llvm::is_contained(ring->multicast, true);
  });
  if (schedule.getCluster() > 1 && !isCluster)
    dropCluster(kernel, gpu.features.bulkCopies);
  if (isCluster)
    ClusterBarrierOp::create(b, loc());
  else
    BarrierOp::create(b, loc());
  auto roles = RolesOp::create(b, loc());
  if (isCluster)
    ClusterBarrierOp::create(b, loc());
  Block *compute = b.createBlock(&roles.getCompute()),
        *copy = b.createBlock(&roles.getCopy());
  compute->getOperations().splice(
      compute->end(), body.getOperations(),
      std::next(roles->getIterator(), 1 + isCluster),
      body.getTerminator()->getIterator());
  // Copies first: they are made from the loads, which compute() erases.
  b.setInsertionPointToEnd(copy);
  IRMapping map;
  copyAll(*compute, map);
  if (isFilled(Filled::ByThreads)) {
    CommitCopiesOp::create(b, loc());
    WaitCopiesOp::create(b, loc(), 0); // none may be in flight at the end
  }
  computeAll(*compute);
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
