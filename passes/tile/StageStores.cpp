// SPDX-License-Identifier: Apache-2.0
//
// Stores of products' sums by tensor maps. A fragment would take many small
// accesses; by way of shared memory each warp stores its own rows, and waits
// for no other.
//
//     %w = tile.convert_layout %r          %s = tile.alloc_shared
//     tile.store %w, %v[%i : 128, ..]      tile.store_tensor %r, %v[%i : 128,
//     ..] by %s
//                                          tile.wait_stores %s
#include "act/Layout/Mma.h"
#include "act/Layout/Shared.h"
#include "passes/tile/KnownTarget.h"
#include "passes/tile/Layouts.h"
#include "passes/tile/Passes.h"

namespace act::tile {
#define GEN_PASS_DEF_STAGESTORESPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

/// Rows that a warp stores at a time, and pieces of shared memory that it has.
constexpr int64_t rows = 16, pieces = 2;

/// The block that the store converts, if each warp holds whole rows of it as a
/// product's sum; else null.
Value sumOf(StoreOp store, int64_t warps) {
  auto conversion = store.getValue().getDefiningOp<ConvertLayoutOp>();
  if (!conversion)
    return {};
  auto type = cast<RankedTensorType>(conversion.getInput().getType());
  if (type.getRank() != 2 || type.getElementTypeBitWidth() != 16)
    return {};
  auto sum = act::layout::mmaAccumulator(type.getShape().vec(), warps, 1);
  return sum && *sum == distributed(type) ? conversion.getInput() : Value();
}

/// Whether the kernel may need the stored numbers while it runs: it reads that
/// memory behind the store, or passes a turn to a program that does. Nothing
/// orders what the copy engine writes before that.
bool isNeededLater(StoreOp store, gpu::GPUFuncOp kernel) {
  Value memory = memoryOf(store.getView());
  return kernel
      .walk([&](Operation *op) {
        auto load = dyn_cast<LoadOp>(op);
        if (!isa<PassTurnOp>(op) &&
            (!load || memoryOf(load.getView()) != memory))
          return WalkResult::advance();
        for (Operation *own = store; own != kernel; own = own->getParentOp())
          if (Operation *other = own->getBlock()->findAncestorOpInBlock(*op)) {
            const bool isBehind = other == own ? isa<LoopLikeOpInterface>(own)
                                               : own->isBeforeInBlock(other);
            return isBehind ? WalkResult::interrupt() : WalkResult::advance();
          }
        return WalkResult::advance();
      })
      .wasInterrupted();
}

/// Memory of the same type in the block that holds the store, or a new one.
/// Stores take turns with its pieces.
Value memoryFor(StoreOp store, SharedType type, SmallVectorImpl<Value> &all) {
  for (Value shared : all)
    if (shared.getType() == type &&
        shared.getParentBlock() == store->getBlock())
      return shared;
  OpBuilder b(store);
  Value shared = AllocSharedOp::create(b, store.getLoc(), type, IntegerAttr());
  // Other memory may take this one's place.
  b.setInsertionPoint(store->getBlock()->getTerminator());
  WaitStoresOp::create(b, store.getLoc(), shared, /*complete=*/false);
  return all.emplace_back(shared);
}

void stage(StoreOp store, Value sum, int64_t warps,
           SmallVectorImpl<Value> &memories) {
  auto type = cast<RankedTensorType>(sum.getType());
  int64_t bytes = bytesOf(type.getElementType()),
          width = act::layout::Shared::evenWidth(type.getDimSize(1) * bytes);
  if (width < 32 || !tensorMapFault(store).empty())
    return;
  OpBuilder b(store);
  Location loc = store.getLoc();
  auto memory = SharedType::get({warps, pieces, rows, width / bytes},
                                type.getElementType(),
                                SharedLayoutAttr::get(b.getContext(), width));
  Value shared = memoryFor(store, memory, memories);
  StoreTensorOp::create(b, loc, sum, store.getView(), store.getIndices(),
                        shared, store.getExtents());
  Operation *conversion = store.getValue().getDefiningOp();
  store.erase();
  if (conversion->use_empty())
    conversion->erase();
}

struct StageStores : act::tile::impl::StageStoresPassBase<StageStores> {
  using StageStoresPassBase::StageStoresPassBase;

  void runOnOperation() override {
    auto gpu = knownTarget(target, &getContext());
    if (failed(gpu))
      return signalPassFailure();
    if (!(*gpu)->features.bulkCopies)
      return;
    getOperation()->walk([](gpu::GPUFuncOp kernel) {
      ScheduleAttr schedule = getSchedule(kernel);
      if (!kernel.isKernel() || !schedule.getInGroups())
        return;
      SmallVector<StoreOp> stores;
      SmallVector<Value> memories;
      kernel.walk([&](StoreOp store) { stores.push_back(store); });
      for (StoreOp store : stores)
        if (Value sum = sumOf(store, schedule.getWarps());
            sum && !isNeededLater(store, kernel))
          stage(store, sum, schedule.getWarps(), memories);
    });
  }
};

} // namespace
