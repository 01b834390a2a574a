// SPDX-License-Identifier: Apache-2.0
//
// Layout conversions through shared memory, made explicit where several can
// share a store or a barrier. Conversions left as they are get both of their
// own when they are lowered (threads/Shared.cpp).
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

/// The converted block, before a transpose.
Value blockOf(ConvertLayoutOp conversion) {
  Value v = conversion.getInput();
  auto trans = v.getDefiningOp<TransOp>();
  return trans ? trans.getInput() : v;
}

/// How elements reach the threads that need them. Kept: they are there already.
/// Exchanged: by the conversion as it is. ByMatrix: the block may be stored in
/// shared memory as a matrix, which other conversions can read too. None: there
/// is no such conversion.
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
  // Rows of whole 16-byte words can be stored as a matrix in shared memory.
  bool isMatrix = from.getRank() == 2 && from.getDimSize(1) * bytes % 16 == 0;
  return isMatrix && !way->shuffleIsCheaper() ? Way::ByMatrix : Way::Exchanged;
}

/// The block to store as a matrix in shared memory for this conversion; null if
/// there is none or it comes from elsewhere.
Value movedBlock(ConvertLayoutOp conversion) {
  Value v = blockOf(conversion);
  Operation *op = v.getDefiningOp();
  bool isNear = op && op->getBlock() == conversion->getBlock();
  return isNear && wayOf(conversion) == Way::ByMatrix ? v : Value();
}

/// The outermost loop around the conversion in which the block is invariant.
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

/// Whether a thread carries so many values between iterations that addresses of
/// more memory would not fit in registers.
bool isFull(Block &block) {
  auto loop = dyn_cast<scf::ForOp>(block.getParentOp());
  int64_t carried = 0;
  for (Value v : loop ? ValueRange(loop.getRegionIterArgs()) : ValueRange())
    if (auto type = dyn_cast<RankedTensorType>(v.getType()))
      carried += distributed(type).registerCount();
  return carried > 96;
}

/// Conversions that share one barrier, by converted block.
using Group = llvm::MapVector<Value, SmallVector<ConvertLayoutOp>>;

/// Whether `v` is available before `first`, or can be moved there: all blocks
/// of a group are stored at its first conversion.
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

/// Into how many parts the program's warps fall that do not need each other's
/// elements: warp w is in part w modulo the result. Where both layouts begin
/// with the same digits of warps, these say where elements of both are.
int64_t partsOf(ConvertLayoutOp conversion) {
  constexpr int64_t most = 15; // barriers, beside the program's
  if (conversion->getParentOfType<RolesOp>())
    return 1;
  auto warpsOf = [](Value v) {
    return distributed(cast<RankedTensorType>(v.getType())).warps();
  };
  int64_t parts = 1;
  for (auto [from, to] : llvm::zip(warpsOf(conversion.getInput()),
                                   warpsOf(conversion.getResult()))) {
    const int64_t extent = std::gcd(from.extent, to.extent);
    if (from.isCopy() || from.strides != to.strides || parts * extent > most)
      break;
    parts *= extent;
    if (from != to)
      break;
  }
  return parts;
}

/// Stores the group's blocks before `first`, with one barrier, and makes each
/// conversion a read. The barrier before the stores follows from the plan of
/// shared memory.
///
/// `byParts`: a block's first read waits for the warps that it needs alone, and
/// a later one that needs more of them for these.
void share(Group &group, Operation *first, bool byParts = false) {
  OpBuilder b(first);
  SmallVector<Value> memory;
  for (auto &[v, conversions] : group) {
    SharedType type = swizzledMemory(cast<RankedTensorType>(v.getType()));
    memory.push_back(AllocSharedOp::create(b, v.getLoc(), type, IntegerAttr()));
  }
  for (auto [of, shared] : llvm::zip_equal(group, memory))
    StoreSharedOp::create(b, of.first.getLoc(), of.first, shared, ValueRange(),
                          DenseI64ArrayAttr());
  // The program's barrier is for all reads.
  int64_t parts = byParts ? 0 : 1;
  if (parts)
    BarrierOp::create(b, first->getLoc(), parts);
  for (auto [of, shared] : llvm::zip_equal(group, memory))
    for (ConvertLayoutOp conversion : of.second) {
      b.setInsertionPoint(conversion);
      if (const int64_t own = partsOf(conversion); !parts || own % parts) {
        parts = std::gcd(parts, own);
        BarrierOp::create(b, conversion.getLoc(), parts);
      }
      readFrom(shared, {}, conversion, b);
    }
}

int64_t sizeOf(SharedType type) {
  return ShapedType::getNumElements(type.getShape()) *
         bytesOf(type.getElementType());
}

/// Exchanges loop-invariant blocks once. A matrix stays in shared memory during
/// the loop, whose products read it like a staged load; a few values per thread
/// stay in registers. If that needs more memory or registers than the loop may
/// have to spare, the exchange stays in the loop.
void hoist(gpu::GPUFuncOp kernel) {
  constexpr int64_t mostBytes = 80 * 1024; // of 99 KiB; exchanges need some too
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

  /// Groups the block's conversions: a group goes on as long as each further
  /// block is available at its first conversion, and there is room for it: all
  /// are in memory together, and what is behind the first conversion, too.
  void run(Block &block) {
    constexpr int64_t mostBytes = 64 * 1024; // of 99 KiB
    if (isFull(block))
      return shareEachAlone(block);
    DominanceInfo dominance(block.getParentOp());
    Group group;
    int64_t bytes = 0;
    Operation *first = nullptr;
    auto close = [&] {
      size_t conversions = 0;
      for (auto &[v, of] : group)
        conversions += of.size();
      // A single conversion has nothing to share.
      if (conversions > 1)
        share(group, first);
      group.clear();
      bytes = 0;
    };
    for (auto conversion :
         llvm::make_early_inc_range(block.getOps<ConvertLayoutOp>())) {
      Value v = movedBlock(conversion);
      if (!v)
        continue;
      const int64_t own =
          group.contains(v)
              ? 0
              : sizeOf(swizzledMemory(cast<RankedTensorType>(v.getType())));
      if (!group.empty() &&
          (bytes + own > mostBytes || !comesBefore(v, first, dominance)))
        close();
      if (group.empty())
        first = conversion;
      group[v].push_back(conversion);
      bytes += own;
    }
    close();
  }

  // One barrier per block, so that stored blocks need not stay in registers
  // until the last use.
  void shareEachAlone(Block &block) {
    llvm::MapVector<Value, Group> groups;
    for (auto conversion : block.getOps<ConvertLayoutOp>())
      if (Value v = movedBlock(conversion))
        groups[v][v].push_back(conversion);
    for (auto &[v, group] : groups)
      share(group, group[v].front(), /*byParts=*/true);
  }
};

} // namespace
