// SPDX-License-Identifier: Apache-2.0
//
// Which loads can be staged, and the code that StageLoads and AssignRoles have
// in common: copies into a ring, reads from it, and the indices of another
// iteration.
#include "passes/tile/StagedLoads.h"
#include "act/Layout/Shared.h"
#include "dialects/tile/Divisor.h"
#include "passes/tile/Layouts.h"
#include "passes/tile/threads/BlockAccess.h"
#include "passes/tile/threads/SharedAddress.h"

using namespace mlir;
using namespace act;
using namespace act::tile;

namespace {

/// Whether the conversion makes an operand of a dot, apart from its
/// accumulator.
bool isOperand(ConvertLayoutOp conversion) {
  return llvm::any_of(conversion->getUses(), [](OpOperand &use) {
    return isa<DotOp>(use.getOwner()) && use.getOperandNumber() < 2;
  });
}

/// The load with all conversions of its block. Nothing if none feeds a dot:
/// then memory between the load and its reader would gain nothing.
std::optional<StagedLoad> stagedOf(LoadOp load) {
  StagedLoad s{load, {}, {}};
  auto collect = [&](Value v) {
    for (Operation *user : v.getUsers())
      if (auto conversion = dyn_cast<ConvertLayoutOp>(user))
        s.conversions.push_back(conversion);
  };
  collect(load.getResult());
  for (Operation *user : load->getUsers())
    if (auto shared = dyn_cast<ToSharedOp>(user))
      s.shared.push_back(shared);
    else if (auto trans = dyn_cast<TransOp>(user))
      collect(trans.getResult());
  if (s.shared.empty() && llvm::none_of(s.conversions, isOperand))
    return std::nullopt;
  return s;
}

/// Whether 16-byte chunks along the block's last dimension are aligned, and
/// entirely inside the view or entirely outside.
bool byChunks(LoadOp load) {
  auto block = dyn_cast<RankedTensorType>(load.getType());
  if (!block || block.getRank() != 2 || load.getPad())
    return false;
  int64_t bytes = bytesOf(block.getElementType());
  if (block.getDimSize(1) * bytes % 16 || block.getElementTypeBitWidth() < 8)
    return false;
  int64_t perChunk = 16 / bytes;
  auto view = cast<ViewType>(load.getView().getType());
  SmallVector<int64_t> strides = view.getFullStrides();
  int64_t last = -1;
  for (auto [d, extent] : llvm::enumerate(load.getExtents()))
    if (extent >= 0)
      last = d;
  for (auto [d, index] : llvm::enumerate(load.getIndices())) {
    if (static_cast<int64_t>(d) == last) {
      if (strides[d] != 1 || isa<RankedTensorType>(index.getType()) ||
          divisorOf(index) % perChunk ||
          ShapedType::isDynamic(view.getShape()[d]) ||
          view.getShape()[d] % perChunk)
        return false;
    } else if (ShapedType::isDynamic(strides[d]) || strides[d] % perChunk) {
      return false;
    }
  }
  return true;
}

} // namespace

bool act::tile::isStaged(Value block) {
  auto load = block.getDefiningOp<LoadOp>();
  return load && byChunks(load);
}

llvm::MapVector<Operation *, SmallVector<StagedLoad>>
act::tile::stagedLoads(gpu::GPUFuncOp kernel) {
  llvm::MapVector<Operation *, SmallVector<StagedLoad>> byParent;
  kernel.walk([&](LoadOp load) {
    if (byChunks(load))
      if (auto staged = stagedOf(load))
        byParent[load->getParentOp()].push_back(*staged);
  });
  return byParent;
}

bool act::tile::isWritten(LoadOp load, Operation *within) {
  return within
      ->walk([&](BlockAccessOpInterface access) {
        return !isa<LoadOp, CopyAsyncOp>(access.getOperation()) &&
                       memoryOf(access.getView()) == memoryOf(load.getView())
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

SharedType act::tile::ringType(LoadOp load, int64_t slots) {
  auto block = cast<RankedTensorType>(load.getType());
  if (block.getRank() == 1)
    return SharedType::get({slots, 1, block.getDimSize(0)},
                           block.getElementType());
  return swizzledMemory(block, slots);
}

void act::tile::copyBlock(LoadOp load, Value view, ValueRange indices,
                          Value shared, ValueRange slot, int64_t warps,
                          OpBuilder &b) {
  // Gather indices are laid out for the copying threads, which differ from the
  // loading ones. All panels have equal width, so the same threads copy each.
  layout::Shared form = sharedForm(cast<SharedType>(shared.getType()));
  auto threads = copyLayout(form, form.panels().front(), warps);
  SmallVector<Value> own(indices);
  for (Value &index : own)
    if (auto rows = dyn_cast<RankedTensorType>(index.getType());
        rows && threads)
      index = b.createOrFold<ConvertLayoutOp>(
          load.getLoc(), with(rows, threads->dropped(1)), index);
  CopyAsyncOp::create(b, load.getLoc(), view, own, shared, slot,
                      load.getExtents());
}

// Every conversion reads the ring in its own layout, so the block is never in
// registers in the layout of the load.
void act::tile::readStaged(const StagedLoad &s, Value shared, ValueRange slot,
                           OpBuilder &b) {
  LoadOp load = s.load;
  Location loc = load.getLoc();
  auto block = cast<RankedTensorType>(load.getType());
  OpBuilder::InsertionGuard guard(b);
  for (ConvertLayoutOp conversion : s.conversions) {
    b.setInsertionPoint(conversion);
    readFrom(shared, slot, conversion, b);
  }
  for (ToSharedOp memory : s.shared) {
    b.setInsertionPoint(memory);
    memory.replaceAllUsesWith(
        SharedViewOp::create(b, loc, memory.getType(), shared, slot)
            .getResult());
    memory.erase();
  }
  if (!load->use_empty()) {
    b.setInsertionPoint(load);
    RankedTensorType stored = block;
    if (block.getRank() == 1)
      stored = with(block.clone({1, block.getDimSize(0)}),
                    distributed(block).expanded(0));
    Value v = LoadSharedOp::create(b, loc, stored, shared, slot);
    if (block.getRank() == 1)
      v = ReshapeOp::create(b, loc, block, v);
    load.getResult().replaceAllUsesWith(v);
  }
  load.erase();
}

LogicalResult act::tile::sliceOf(scf::ForOp loop, ValueRange values,
                                 SetVector<Operation *> &slice) {
  for (Value v : values) {
    if (v == loop.getInductionVar() || loop.isDefinedOutsideOfLoop(v))
      continue;
    Operation *op = v.getDefiningOp();
    if (!op || op->getBlock() != loop.getBody() || !isMemoryEffectFree(op) ||
        op->getNumRegions())
      return failure();
    if (failed(sliceOf(loop, op->getOperands(), slice)))
      return failure();
    slice.insert(op);
  }
  return success();
}

// Clones the arithmetic from the counter to the indices, with another counter.
std::vector<SmallVector<Value>>
act::tile::indicesAt(scf::ForOp loop, ArrayRef<StagedLoad> loads, Value counter,
                     OpBuilder &b, IRMapping map) {
  SetVector<Operation *> slice;
  for (const StagedLoad &s : loads)
    (void)sliceOf(loop, LoadOp(s.load).getIndices(), slice);
  map.map(loop.getInductionVar(), counter);
  for (Operation *op : slice)
    b.clone(*op, map);
  std::vector<SmallVector<Value>> all;
  for (const StagedLoad &s : loads) {
    SmallVector<Value> indices;
    for (Value v : LoadOp(s.load).getIndices())
      indices.push_back(map.lookupOrDefault(v));
    all.push_back(indices);
  }
  return all;
}

bool act::tile::awaitCarried(scf::ForOp loop, OpBuilder &b) {
  bool any = false;
  for (Value v : loop.getRegionIterArgs())
    if (isa<PendingType>(v.getType())) {
      AwaitDotOp::create(b, loop.getLoc(), v);
      any = true;
    }
  return any;
}

Value act::tile::nextSlot(Value slot, int64_t slots, OpBuilder &b,
                          Location loc) {
  auto number = [&](int64_t v) -> Value {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(v));
  };
  Value next = arith::AddIOp::create(b, loc, slot, number(1));
  Value wraps = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, next,
                                      number(slots));
  return arith::SelectOp::create(b, loc, wraps, number(0), next);
}
