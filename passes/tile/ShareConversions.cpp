// SPDX-License-Identifier: Apache-2.0
#include "act/Layout/Conversion.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/tile/Layouts.h"
#include "passes/tile/Passes.h"
#include "passes/tile/threads/BlockAccess.h"
#include "passes/tile/threads/SharedAddress.h"
#include "llvm/ADT/MapVector.h"

namespace act::tile {
#define GEN_PASS_DEF_SHARECONVERSIONSPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

/// What a conversion converts, before it is transposed.
Value blockOf(ConvertLayoutOp conversion) {
  Value v = conversion.getInput();
  auto trans = v.getDefiningOp<TransOp>();
  return trans ? trans.getInput() : v;
}

/// How elements get to the threads that want them.
enum class Way { None, Kept, Exchanged, ByMatrix };

Way wayOf(ConvertLayoutOp conversion) {
  auto from = cast<RankedTensorType>(conversion.getInput().getType()),
       to = cast<RankedTensorType>(conversion.getType());
  int64_t bytes = bytesOf(from.getElementType());
  auto way =
      act::layout::Conversion::get(distributed(from), distributed(to), bytes);
  if (!way)
    return Way::None;
  if (way->keepsLanes())
    return Way::Kept;
  // Rows of whole words of 16 bytes can be a matrix in shared memory.
  bool isMatrix = from.getRank() == 2 && from.getDimSize(1) * bytes % 16 == 0;
  return isMatrix && !way->shuffleIsCheaper() ? Way::ByMatrix : Way::Exchanged;
}

/// The block in whose place a matrix in shared memory can be read; null where
/// there is none, or it was made elsewhere.
Value movedBlock(ConvertLayoutOp conversion) {
  Value v = blockOf(conversion);
  Operation *op = v.getDefiningOp();
  bool isNear = op && op->getBlock() == conversion->getBlock();
  return isNear && wayOf(conversion) == Way::ByMatrix ? v : Value();
}

/// The outermost loop around a conversion in which the block does not change.
Operation *outermostLoopWithout(Value block, ConvertLayoutOp conversion) {
  Operation *found = nullptr;
  for (Operation *op = conversion->getParentOp();
       isa<scf::SCFDialect>(op->getDialect()); op = op->getParentOp())
    if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
      if (!loop.isDefinedOutsideOfLoop(block))
        break;
      found = op;
    }
  return found;
}

/// Whether a thread carries so many numbers from iteration to iteration that
/// addresses of further memory would have no registers.
bool isFull(Block &block) {
  auto loop = dyn_cast<scf::ForOp>(block.getParentOp());
  int64_t carried = 0;
  for (Value v : loop ? ValueRange(loop.getRegionIterArgs()) : ValueRange())
    if (auto type = dyn_cast<RankedTensorType>(v.getType()))
      carried += distributed(type).registerCount();
  return carried > 96;
}

/// Conversions behind one barrier, by what they convert.
using Group = llvm::MapVector<Value, SmallVector<ConvertLayoutOp>>;

/// Whether `v` is there before `first`, or can be.
bool comesBefore(Value v, Operation *first, const DominanceInfo &dominance) {
  Operation *op = v.getDefiningOp();
  if (op->isBeforeInBlock(first))
    return true;
  if (!isMemoryEffectFree(op) || op->getNumRegions() ||
      !llvm::all_of(op->getOperands(), [&](Value operand) {
        return dominance.properlyDominates(operand, first);
      }))
    return false;
  op->moveBefore(first);
  return true;
}

void share(Group &group, Operation *first) {
  OpBuilder b(first);
  SmallVector<Value> memory;
  for (auto &[v, conversions] : group) {
    SharedType type = swizzledMemory(cast<RankedTensorType>(v.getType()));
    memory.push_back(AllocSharedOp::create(b, v.getLoc(), type, IntegerAttr()));
  }
  for (auto [of, shared] : llvm::zip_equal(group, memory))
    StoreSharedOp::create(b, of.first.getLoc(), of.first, shared, ValueRange());
  BarrierOp::create(b, first->getLoc());
  for (auto [of, shared] : llvm::zip_equal(group, memory))
    for (ConvertLayoutOp conversion : of.second) {
      b.setInsertionPoint(conversion);
      readFrom(shared, {}, conversion, b);
    }
}

int64_t sizeOf(SharedType type) {
  return ShapedType::getNumElements(type.getShape()) *
         bytesOf(type.getElementType());
}

/// What does not change in a loop is exchanged once. A matrix stays in shared
/// memory for the loop, whose products read it there as they would what was
/// loaded; a few numbers of each thread stay in registers. Where that needs
/// more memory, or registers, than a loop may have to spare, it is exchanged
/// in the loop.
void hoist(gpu::GPUFuncOp kernel) {
  constexpr int64_t mostBytes = 80 * 1024; // of 99 KiB; exchanges need some
  constexpr int64_t mostBytesOfThread = 128;
  int64_t bytes = 0;
  kernel.walk([&](AllocSharedOp op) { bytes += sizeOf(op.getType()); });
  llvm::MapVector<Operation *, Group> matrices;
  SmallVector<std::pair<ConvertLayoutOp, Operation *>> others;
  kernel.walk([&](ConvertLayoutOp conversion) {
    Value v = blockOf(conversion);
    Operation *loop = outermostLoopWithout(v, conversion);
    Way way = loop ? wayOf(conversion) : Way::None;
    auto to = cast<RankedTensorType>(conversion.getType());
    if (way == Way::ByMatrix)
      matrices[loop][v].push_back(conversion);
    else if (way == Way::Exchanged && v == conversion.getInput() &&
             distributed(to).registerCount() * bytesOf(to.getElementType()) <=
                 mostBytesOfThread)
      others.push_back({conversion, loop});
  });
  for (auto [conversion, loop] : others)
    conversion->moveBefore(loop);
  for (auto &[loop, group] : matrices) {
    group.remove_if([&](auto &of) {
      int64_t own =
          sizeOf(swizzledMemory(cast<RankedTensorType>(of.first.getType())));
      bool isTooMuch = bytes + own > mostBytes;
      bytes += isTooMuch ? 0 : own;
      return isTooMuch;
    });
    if (!group.empty())
      share(group, loop);
  }
}

struct ShareConversions
    : act::tile::impl::ShareConversionsPassBase<ShareConversions> {
  void runOnOperation() override {
    WalkResult walked =
        getOperation()->walk([&](gpu::GPUFuncOp kernel) -> WalkResult {
          if (failed(checkLayouts(kernel)))
            return WalkResult::interrupt();
          hoist(kernel);
          kernel.walk([&](Block *block) { run(*block); });
          return WalkResult::advance();
        });
    if (walked.wasInterrupted())
      signalPassFailure();
  }

  void run(Block &block) {
    if (isFull(block))
      return shareEachAlone(block);
    DominanceInfo dominance(block.getParentOp());
    Group group;
    Operation *first = nullptr;
    auto close = [&] {
      size_t conversions = 0;
      for (auto &[v, of] : group)
        conversions += of.size();
      if (conversions > 1)
        share(group, first);
      group.clear();
    };
    for (auto conversion :
         llvm::make_early_inc_range(block.getOps<ConvertLayoutOp>())) {
      Value v = movedBlock(conversion);
      if (!v)
        continue;
      if (!group.empty() && !comesBefore(v, first, dominance))
        close();
      if (group.empty())
        first = conversion;
      group[v].push_back(conversion);
    }
    close();
  }

  // Each block behind a barrier of its own: what is stored need not stay in
  // registers until its last use.
  void shareEachAlone(Block &block) {
    llvm::MapVector<Value, Group> groups;
    for (auto conversion : block.getOps<ConvertLayoutOp>())
      if (Value v = movedBlock(conversion))
        groups[v][v].push_back(conversion);
    for (auto &[v, group] : groups)
      share(group, group[v].front());
  }
};

} // namespace
