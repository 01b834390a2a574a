// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/threads/SharedPlan.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/tile/CarriedBlocks.h"
#include "passes/tile/threads/SharedForm.h"

using namespace mlir;
using namespace act::tile;

static constexpr int64_t leastAlignment = 128;

// Times number the ops of the whole kernel in order, an op's regions between
// its begin and its end. So a use in a loop can be widened to the loop.
SharedPlan::SharedPlan(gpu::GPUFuncOp kernel)
    : byAddress(reachesByAddress(kernel)) {
  int64_t now = 0;
  auto number = [&](auto &self, Operation *op) -> void {
    int64_t begin = now++;
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Operation &inner : block)
          self(self, &inner);
    times[op] = {begin, now++};
  };
  number(number, kernel);
  kernel.walk([&](AllocSharedOp op) {
    Piece piece;
    piece.op = op;
    // LLVM may merge accesses and read a few bytes past the end.
    piece.bytes = llvm::alignTo(bytesOf(op.getType(), byAddress), 16);
    piece.alignment = alignmentOf(op.getType(), byAddress);
    findUses(piece);
    pieces.push_back(piece);
  });
  place();
}

/// The ops that use the memory: also by a view of it, and as long as a product
/// that reads it may run, which is until its sum is taken.
static SetVector<Operation *> usersOf(Value memory) {
  SetVector<Operation *> users;
  SetVector<Value> values;
  values.insert(memory);
  for (size_t i = 0; i < values.size(); ++i) {
    Value v = values[i];
    for (Operation *user : v.getUsers()) {
      users.insert(user);
      if (isa<SharedViewOp, DotAsyncOp>(user))
        values.insert(user->getResult(0));
    }
    if (isa<PendingType>(v.getType())) {
      SmallVector<Value> same;
      aliases(v, same);
      values.insert(same.begin(), same.end());
    }
  }
  // What a loop carries is used behind it, too.
  users.remove_if([](Operation *op) { return isa<BeginDotOp>(op); });
  return users;
}

// A use inside a loop counts with the loop's whole interval, found as its
// ancestor in the allocation's block: the next iteration uses it again.
void SharedPlan::findUses(Piece &piece) {
  Block *block = piece.op->getBlock();
  piece.inLoop = isa<LoopLikeOpInterface>(block->getParentOp()) ||
                 piece.op->getParentOfType<LoopLikeOpInterface>() != nullptr;
  bool copied = false;
  for (Operation *user : usersOf(piece.op)) {
    Operation *use = block->findAncestorOpInBlock(*user);
    if (!use) // the sum goes on, the memory is of this iteration
      continue;
    if (isa<SharedViewOp>(use)) // does not touch it
      continue;
    auto [begin, until] = times.lookup(use);
    if (!piece.first || use->isBeforeInBlock(piece.first)) {
      piece.first = use;
      piece.from = begin;
    }
    if (!piece.last || piece.last->isBeforeInBlock(use))
      piece.last = use;
    piece.to = std::max(piece.to, until);
    copied |= isa<CopyAsyncOp>(user);
  }
  if (!copied)
    return;
  // Copies without a wait in this block may stay in flight indefinitely.
  for (Operation &op : *block)
    if (auto wait = dyn_cast<WaitCopiesOp>(op);
        wait && wait.getPending() == 0 &&
        times.lookup(wait).first > times.lookup(piece.first).first) {
      bool last = llvm::none_of(piece.op->getUsers(), [&](Operation *user) {
        return isa<CopyAsyncOp>(user) &&
               times.lookup(block->findAncestorOpInBlock(*user)).first >
                   times.lookup(wait).first;
      });
      if (last) {
        piece.to = std::max(piece.to, times.lookup(wait).second);
        return;
      }
    }
  piece.from = 0;
  piece.to = INT64_MAX;
}

int64_t SharedPlan::lowest(int64_t bytes, int64_t alignment,
                           ArrayRef<const Piece *> others) const {
  // Candidates: after one of the others, or the start.
  SmallVector<int64_t> candidates{0};
  for (const Piece *other : others)
    candidates.push_back(
        llvm::alignTo(other->offset + other->bytes, alignment));
  llvm::sort(candidates);
  for (int64_t at : candidates)
    if (llvm::none_of(others,
                      [&](const Piece *p) { return p->meets(at, bytes); }))
      return at;
  llvm_unreachable("behind the last one there is room");
}

// Greedy: each piece goes to the lowest place that is free while it is live.
// Large pieces come first and leave gaps that small ones fit in.
void SharedPlan::place() {
  SmallVector<Piece *> order;
  SmallVector<const Piece *> placed;
  for (Piece &piece : pieces) {
    if (!piece.op.getOffset()) {
      order.push_back(&piece);
      continue;
    }
    // An explicit offset: only its author knows when it is free.
    piece.offset = *piece.op.getOffset();
    piece.from = 0;
    piece.to = INT64_MAX;
    placed.push_back(&piece);
  }
  // The largest first; ties in kernel order.
  llvm::sort(order, [](Piece *a, Piece *b) {
    return std::pair(-a->bytes, a) < std::pair(-b->bytes, b);
  });
  for (Piece *piece : order) {
    SmallVector<const Piece *> atOnce;
    for (const Piece *other : placed)
      if (other->isNeeded(piece->from, piece->to))
        atOnce.push_back(other);
    piece->offset = lowest(piece->bytes, piece->alignment, atOnce);
    piece->op.setOffset(piece->offset);
    placed.push_back(piece);
  }
  for (const Piece &piece : pieces)
    end = std::max(end, piece.offset + piece.bytes);
}

// Scratch of two ops may overlap: each uses it only while it runs, and a
// barrier separates them (ThreadBuilder::scratch).
int64_t SharedPlan::scratch(Operation *op, int64_t bytes) {
  auto [begin, until] = times.lookup(op);
  SmallVector<const Piece *> atOnce;
  for (const Piece &piece : pieces)
    if (piece.isNeeded(begin, until))
      atOnce.push_back(&piece);
  int64_t offset = lowest(bytes, leastAlignment, atOnce);
  scratches.push_back({offset, bytes});
  end = std::max(end, offset + bytes);
  return offset;
}

bool SharedPlan::isShared(int64_t offset, int64_t bytes) const {
  return llvm::any_of(pieces,
                      [&](const Piece &p) { return p.meets(offset, bytes); });
}

const SharedPlan::Piece *SharedPlan::pieceOf(Value shared) const {
  for (const Piece &piece : pieces)
    if (piece.op == shared.getDefiningOp())
      return &piece;
  return nullptr;
}

// Whether the kernel has a barrier of its own before the first use, as staged
// loads do. A second one would only cost time.
bool SharedPlan::hasBarrier(const Piece &piece) const {
  // Between here and the barrier, nothing may touch the old contents. Memory
  // that is live at the same time is elsewhere.
  auto isElsewhere = [&](Value shared) {
    const Piece *other = pieceOf(shared);
    return other && other->isNeeded(piece.from, piece.from);
  };
  for (Operation *op = piece.first->getPrevNode(); op; op = op->getPrevNode()) {
    if (isWholeBarrier(op) || isa<ClusterBarrierOp>(op))
      return true;
    if (isa<AllocSharedOp, CommitCopiesOp, LoadOp>(op))
      continue;
    if (auto copy = dyn_cast<CopyAsyncOp>(op);
        copy && isElsewhere(copy.getShared()))
      continue;
    if (isa<LoadSharedOp, StoreSharedOp>(op) &&
        isElsewhere(op->getOperand(isa<StoreSharedOp>(op))))
      continue;
    if (op->getNumRegions() || !isMemoryEffectFree(op) ||
        isa<ConvertLayoutOp, ReshapeOp, ReduceOp, ScanOp>(op))
      return false;
  }
  return false;
}

// Whether the last barrier of its block before the first use of a piece comes
// after all others that had its place: nobody needs it between the two. In a
// loop, the barrier also comes after the piece's last use in the iteration
// before.
bool SharedPlan::isFreeSinceBarrier(const Piece &piece) const {
  for (auto [offset, bytes] : scratches)
    if (piece.meets(offset, bytes))
      return false;
  for (Operation *op = piece.first->getPrevNode(); op; op = op->getPrevNode())
    if (isWholeBarrier(op))
      return llvm::none_of(pieces, [&](const Piece &other) {
        return &other != &piece && other.meets(piece.offset, piece.bytes) &&
               other.isNeeded(times.lookup(op).first, piece.from);
      });
  return false;
}

// Whether the loop's body has a barrier behind the last use of a piece, whose
// place nothing else has.
bool SharedPlan::hasBarrierBehind(const Piece &piece) const {
  for (const Piece &other : pieces)
    if (&other != &piece && other.meets(piece.offset, piece.bytes))
      return false;
  for (auto [offset, bytes] : scratches)
    if (piece.meets(offset, bytes))
      return false;
  if (!isa<LoopLikeOpInterface>(piece.op->getParentOp()))
    return false;
  for (Operation *op = piece.last->getNextNode(); op; op = op->getNextNode())
    if (isWholeBarrier(op) || isa<PassTurnOp>(op))
      return true;
  return false;
}

// Before the first use of a piece whose place had another user before: an
// earlier piece, some op's scratch, or the same piece in the last iteration.
bool SharedPlan::mustWait(Operation *op) const {
  for (const Piece &piece : pieces) {
    if (piece.first != op || hasBarrier(piece) || isFreeSinceBarrier(piece))
      continue;
    // The iteration before may still be reading it.
    if (piece.inLoop && !hasBarrierBehind(piece))
      return true;
    for (const Piece &other : pieces)
      if (other.to < piece.from && other.meets(piece.offset, piece.bytes))
        return true;
    for (auto [offset, bytes] : scratches)
      if (piece.meets(offset, bytes))
        return true;
  }
  return false;
}
