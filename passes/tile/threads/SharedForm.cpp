// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/threads/SharedForm.h"
#include "act/Layout/Blocked.h"
#include "passes/tile/Layouts.h"

using namespace mlir;
using namespace act;
using namespace act::tile;
using layout::Shared;

Shared act::tile::sharedForm(SharedType type) {
  // Cannot fail: the type's verifier made the same check.
  SharedLayoutAttr layout = type.getLayout();
  std::vector<int64_t> shape = type.getShape().vec();
  if (type.isTransposed())
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return *Shared::cut(std::move(shape), bytesOf(type.getElementType()),
                      layout ? layout.getSwizzle() : 0,
                      layout && layout.getPairs() ? layout::Swizzle::pairs
                                                  : layout::Swizzle::chunks);
}

bool act::tile::reachesByAddress(Operation *kernel) {
  return kernel
      ->walk([](Operation *op) {
        return isa<CopyTensorOp, StoreTensorOp, DotAsyncOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

int64_t act::tile::alignmentOf(SharedType type, bool byAddress) {
  constexpr int64_t least = 128, rows = 8;
  int64_t bytes = least;
  const Shared form = sharedForm(type);
  if (byAddress)
    for (const Shared::Panel &panel : form.panels())
      if (panel.swizzle == layout::Swizzle::chunks)
        bytes = std::max(bytes, rows * panel.bytes);
  return bytes;
}

int64_t act::tile::slotBytes(SharedType type, bool byAddress) {
  const int64_t bytes = sharedForm(type).slotBytes();
  return byAddress ? llvm::alignTo(bytes, alignmentOf(type, true)) : bytes;
}

int64_t act::tile::bytesOf(SharedType type, bool byAddress) {
  const Shared form = sharedForm(type);
  const int64_t slots = form.size() / form.slotBytes();
  return slots > 1 ? slots * slotBytes(type, byAddress) : form.size();
}

act::Result<act::layout::Distributed>
act::tile::copyLayout(const layout::Shared &form,
                      const layout::Shared::Panel &panel, int64_t warps) {
  return layout::blocked({form.rows(), panel.bytes / form.elementBytes()},
                         16 / form.elementBytes(), warps);
}

// Panels of one width, so that SharedAddress finds deltas. Elements of 4 bytes
// and more are also accessed in pairs of chunks, where mma has its fragments.
SharedType act::tile::swizzledMemory(RankedTensorType block, int64_t slots) {
  SmallVector<int64_t> shape;
  if (slots)
    shape.push_back(slots);
  llvm::append_range(shape, block.getShape());
  int64_t bytes = bytesOf(block.getElementType());
  int64_t width = Shared::evenWidth(block.getDimSize(1) * bytes);
  return SharedType::get(
      shape, block.getElementType(),
      SharedLayoutAttr::get(block.getContext(), width,
                            /*pairs=*/bytes >= 4 && width > 16));
}

// The load gets the layout with dimensions swapped, and the transpose after it
// only renames registers:
//
//     %t = tile.trans %p                   %v = tile.load_shared %s
//     %c = tile.convert_layout %t          %c = tile.trans %v
void act::tile::readFrom(Value shared, ValueRange slot,
                         ConvertLayoutOp conversion, OpBuilder &b) {
  Location loc = conversion.getLoc();
  auto wanted = cast<RankedTensorType>(conversion.getType());
  auto trans = conversion.getInput().getDefiningOp<TransOp>();
  Value v;
  if (trans) {
    // The block's layout is the wanted one with swapped dimensions.
    auto block = cast<RankedTensorType>(trans.getInput().getType());
    v = LoadSharedOp::create(b, loc,
                             with(block, TransOp::swapped(distributed(wanted))),
                             shared, slot);
    v = TransOp::create(b, loc, wanted, v);
  } else {
    v = LoadSharedOp::create(b, loc, wanted, shared, slot);
  }
  conversion.getResult().replaceAllUsesWith(v);
  conversion.erase();
  if (trans && trans->use_empty())
    trans.erase();
}
