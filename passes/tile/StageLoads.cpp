// SPDX-License-Identifier: Apache-2.0
//
// Operands of dots by way of shared memory.
//
//   before a loop   copies of iterations 0 … stages − 2, a group for each
//   in iteration i  wait for the group of iteration i; barrier
//                   start the copies of iteration i + stages − 1, into the slot
//                   that iteration i − 1 has read: the barrier says that all
//                   have read it read slot i mod stages
//
// Copies for iterations after the last are made too, as far as the view goes;
// no one reads them.
#include "act/Layout/Shared.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "passes/tile/Layouts.h"
#include "passes/tile/Passes.h"
#include "passes/tile/threads/BlockAccess.h"
#include "passes/tile/threads/SharedAddress.h"

namespace act::tile {
#define GEN_PASS_DEF_STAGELOADSPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act;
using namespace act::tile;

namespace {

/// A load, what transposes it, and its conversion to an operand. Where the
/// conversion is in a loop and the load in front of it, the block is copied
/// once and read in every iteration: registers are scarcer than shared memory.
struct Chain {
  LoadOp load;
  TransOp trans; // or null
  ConvertLayoutOp conversion;
};

std::optional<Chain> chainOf(DotOp dot, unsigned operand) {
  auto conversion = dot->getOperand(operand).getDefiningOp<ConvertLayoutOp>();
  if (!conversion || !conversion->hasOneUse())
    return std::nullopt;
  Chain c{nullptr, nullptr, conversion};
  Value from = conversion.getInput();
  if (auto trans = from.getDefiningOp<TransOp>()) {
    if (!trans->hasOneUse())
      return std::nullopt;
    c.trans = trans;
    from = trans.getInput();
  }
  c.load = from.getDefiningOp<LoadOp>();
  if (!c.load || !c.load->hasOneUse())
    return std::nullopt;
  return c;
}

/// Chunks of 16 bytes along the block's last dimension are aligned, and inside
/// of the view or outside of it whole.
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

/// Ops of a loop's body that make `values` from what is outside, its counter
/// and constants, in order; fails where memory or carried values are among
/// them.
LogicalResult sliceOf(scf::ForOp loop, ValueRange values,
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

class Staging {
public:
  Staging(gpu::GPUFuncOp kernel)
      : kernel(kernel), stages(getSchedule(kernel).getStages()),
        b(kernel.getContext()) {}
  void run();

private:
  Value allocate(Chain c, int64_t slots);
  void copy(LoadOp load, ValueRange indices, Value shared, ValueRange slot);
  void read(Chain c, Value shared, ValueRange slot);
  void stageOnce(ArrayRef<Chain> chains);
  bool stageLoop(scf::ForOp loop, ArrayRef<Chain> chains);
  /// The loads' indices in another iteration.
  std::vector<SmallVector<Value>>
  indicesAt(scf::ForOp loop, ArrayRef<Chain> chains, Value counter);

  gpu::GPUFuncOp kernel;
  int64_t stages;
  OpBuilder b;
};

Value Staging::allocate(Chain c, int64_t slots) {
  auto block = cast<RankedTensorType>(c.load.getType());
  SmallVector<int64_t> shape{slots};
  llvm::append_range(shape, block.getShape());
  int64_t width = layout::Shared::evenWidth(block.getDimSize(1) *
                                            bytesOf(block.getElementType()));
  auto type = SharedType::get(shape, block.getElementType(),
                              SharedLayoutAttr::get(b.getContext(), width));
  return AllocSharedOp::create(b, c.load.getLoc(), type, IntegerAttr());
}

void Staging::copy(LoadOp load, ValueRange indices, Value shared,
                   ValueRange slot) {
  // Rows are gathered by the threads that copy them, which are others than
  // would load them. The panels are of equal width, and so copied alike.
  layout::Shared form = sharedForm(cast<SharedType>(shared.getType()));
  auto threads =
      copyLayout(form, form.panels().front(), getSchedule(kernel).getWarps());
  SmallVector<Value> own(indices);
  for (Value &index : own)
    if (auto rows = dyn_cast<RankedTensorType>(index.getType());
        rows && threads)
      index = b.createOrFold<ConvertLayoutOp>(
          load.getLoc(), with(rows, threads->dropped(1)), index);
  CopyAsyncOp::create(b, load.getLoc(), load.getView(), own, shared, slot,
                      load.getExtents());
}

void Staging::read(Chain c, Value shared, ValueRange slot) {
  Location loc = c.load.getLoc();
  auto operand = cast<RankedTensorType>(c.conversion.getType());
  auto block = cast<RankedTensorType>(c.load.getType());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(c.conversion);
  Value v;
  if (c.trans) {
    // The operand's layout with its dimensions swapped is the block's.
    auto type = with(block, swapped(distributed(operand)));
    v = LoadSharedOp::create(b, loc, type, shared, slot);
    v = TransOp::create(b, loc, operand, v);
  } else {
    v = LoadSharedOp::create(b, loc, operand, shared, slot);
  }
  c.conversion.getResult().replaceAllUsesWith(v);
  c.conversion.erase();
  if (c.trans)
    c.trans.erase();
  c.load.erase();
}

void Staging::stageOnce(ArrayRef<Chain> chains) {
  for (Chain c : chains) {
    b.setInsertionPoint(c.load);
    Location loc = c.load.getLoc();
    Value shared = allocate(c, 1);
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    if (c.load->getParentOfType<LoopLikeOpInterface>())
      BarrierOp::create(b, loc); // the last iteration may still be read
    copy(c.load, c.load.getIndices(), shared, zero);
    CommitCopiesOp::create(b, loc);
    WaitCopiesOp::create(b, loc, 0);
    BarrierOp::create(b, loc);
    read(c, shared, zero);
  }
}

std::vector<SmallVector<Value>>
Staging::indicesAt(scf::ForOp loop, ArrayRef<Chain> chains, Value counter) {
  SetVector<Operation *> slice;
  for (Chain c : chains)
    (void)sliceOf(loop, c.load.getIndices(), slice);
  IRMapping map;
  map.map(loop.getInductionVar(), counter);
  for (Operation *op : slice)
    b.clone(*op, map);
  std::vector<SmallVector<Value>> all;
  for (Chain c : chains) {
    SmallVector<Value> indices;
    for (Value v : c.load.getIndices())
      indices.push_back(map.lookupOrDefault(v));
    all.push_back(indices);
  }
  return all;
}

bool Staging::stageLoop(scf::ForOp loop, ArrayRef<Chain> all) {
  if (loop.getUnsignedCmp())
    return false;
  SmallVector<Chain> chains;
  for (Chain c : all) {
    SetVector<Operation *> slice;
    if (succeeded(sliceOf(loop, c.load.getIndices(), slice)) &&
        loop.isDefinedOutsideOfLoop(c.load.getView()))
      chains.push_back(c);
  }
  if (chains.empty())
    return false;
  Location loc = loop.getLoc();
  b.setInsertionPoint(loop);
  SmallVector<Value> buffers;
  for (Chain c : chains)
    buffers.push_back(allocate(c, stages));

  // Prologue. What came before may still be read.
  BarrierOp::create(b, loc);
  auto constant = [&](int64_t v) -> Value {
    return arith::ConstantIndexOp::create(b, loc, v);
  };
  Value counter = loop.getLowerBound();
  auto advance = [&](Value c, int64_t by) -> Value {
    Value step = loop.getStep();
    if (by != 1)
      step = arith::MulIOp::create(
          b, loc, step,
          c.getType().isIndex()
              ? constant(by)
              : Value(arith::ConstantOp::create(
                    b, loc, b.getIntegerAttr(c.getType(), by))));
    return arith::AddIOp::create(b, loc, c, step);
  };
  for (int64_t s = 0; s + 1 < stages; ++s) {
    if (s)
      counter = advance(counter, 1);
    auto indices = indicesAt(loop, chains, counter);
    for (auto [i, c] : llvm::enumerate(chains))
      copy(c.load, indices[i], buffers[i], constant(s));
    CommitCopiesOp::create(b, loc);
  }

  // The loop carries the slot that it reads.
  IRRewriter rewriter(b);
  rewriter.setInsertionPoint(loop);
  Value first = arith::ConstantIndexOp::create(rewriter, loc, 0);
  auto replaced = loop.replaceWithAdditionalYields(
      rewriter, {first}, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &builder, Location l,
          ArrayRef<BlockArgument> carried) -> SmallVector<Value> {
        Value next = arith::AddIOp::create(
            builder, l, carried[0],
            arith::ConstantIndexOp::create(builder, l, 1));
        Value end = arith::ConstantIndexOp::create(builder, l, stages);
        Value wraps = arith::CmpIOp::create(
            builder, l, arith::CmpIPredicate::eq, next, end);
        return {arith::SelectOp::create(
            builder, l, wraps, arith::ConstantIndexOp::create(builder, l, 0),
            next)};
      });
  loop = cast<scf::ForOp>(replaced->getOperation());
  Value slot = loop.getRegionIterArgs().back();

  b.setInsertionPointToStart(loop.getBody());
  WaitCopiesOp::create(b, loc, std::max<int64_t>(0, stages - 2));
  BarrierOp::create(b, loc);
  if (stages > 1) {
    auto indices =
        indicesAt(loop, chains, advance(loop.getInductionVar(), stages - 1));
    Value back = arith::AddIOp::create(b, loc, slot, constant(stages - 1));
    Value over = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, back,
                                       constant(stages));
    Value target = arith::SelectOp::create(
        b, loc, over, arith::SubIOp::create(b, loc, back, constant(stages)),
        back);
    for (auto [i, c] : llvm::enumerate(chains))
      copy(c.load, indices[i], buffers[i], target);
    CommitCopiesOp::create(b, loc);
  }
  for (auto [i, c] : llvm::enumerate(chains))
    read(c, buffers[i], slot);
  // Nothing may be under way when the kernel goes on or ends.
  b.setInsertionPointAfter(loop);
  WaitCopiesOp::create(b, loc, 0);
  return true;
}

void Staging::run() {
  llvm::MapVector<Operation *, SmallVector<Chain>> byParent;
  kernel.walk([&](DotOp dot) {
    for (unsigned operand : {0, 1})
      if (auto c = chainOf(dot, operand))
        if (byChunks(c->load))
          byParent[c->load->getParentOp()].push_back(*c);
  });
  for (auto &[parent, chains] : byParent) {
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (!loop || stages < 2 || !stageLoop(loop, chains))
      stageOnce(chains);
  }
}

struct StageLoads : act::tile::impl::StageLoadsPassBase<StageLoads> {
  void runOnOperation() override {
    getOperation()->walk([&](gpu::GPUFuncOp kernel) {
      if (kernel.isKernel())
        Staging(kernel).run();
    });
  }
};

} // namespace
