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
// There are no copies for iterations after the last: the loop's end is asked
// for where the view's is not the same.
#include "act/Layout/Shared.h"
#include "dialects/tile/Divisor.h"
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

/// A load that operands of dots are made of, and what reads it: conversions,
/// also of the transposed block, and other ops, which get it in the load's own
/// layout. Where a conversion is in a loop and the load in front of it, the
/// block is copied once and read in every iteration: registers are scarcer than
/// shared memory.
struct Staged {
  LoadOp load;
  SmallVector<ConvertLayoutOp> conversions;
};

bool isOperand(ConvertLayoutOp conversion) {
  return llvm::any_of(conversion->getUses(), [](OpOperand &use) {
    return isa<DotOp>(use.getOwner()) && use.getOperandNumber() < 2;
  });
}

std::optional<Staged> stagedOf(LoadOp load) {
  Staged s{load, {}};
  auto collect = [&](Value v) {
    for (Operation *user : v.getUsers())
      if (auto conversion = dyn_cast<ConvertLayoutOp>(user))
        s.conversions.push_back(conversion);
  };
  collect(load.getResult());
  for (Operation *user : load->getUsers())
    if (auto trans = dyn_cast<TransOp>(user))
      collect(trans.getResult());
  if (llvm::none_of(s.conversions, isOperand))
    return std::nullopt;
  return s;
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
  Value allocate(LoadOp load, int64_t slots);
  void copy(LoadOp load, ValueRange indices, Value shared, ValueRange slot);
  void read(const Staged &s, Value shared, ValueRange slot);
  /// copies() for the iteration `counter`, if there is one.
  void inLoop(scf::ForOp loop, ArrayRef<Staged> loads, Value counter,
              llvm::function_ref<void()> copies);
  void stageOnce(ArrayRef<Staged> loads);
  bool stageLoop(scf::ForOp loop, ArrayRef<Staged> loads);
  /// The loads' indices in another iteration.
  std::vector<SmallVector<Value>>
  indicesAt(scf::ForOp loop, ArrayRef<Staged> loads, Value counter);

  gpu::GPUFuncOp kernel;
  int64_t stages;
  OpBuilder b;
};

Value Staging::allocate(LoadOp load, int64_t slots) {
  SharedType type =
      swizzledMemory(cast<RankedTensorType>(load.getType()), slots);
  return AllocSharedOp::create(b, load.getLoc(), type, IntegerAttr());
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

void Staging::read(const Staged &s, Value shared, ValueRange slot) {
  LoadOp load = s.load;
  Location loc = load.getLoc();
  auto block = cast<RankedTensorType>(load.getType());
  OpBuilder::InsertionGuard guard(b);
  for (ConvertLayoutOp conversion : s.conversions) {
    b.setInsertionPoint(conversion);
    readFrom(shared, slot, conversion, b);
  }
  if (!load->use_empty()) {
    b.setInsertionPoint(load);
    Value v = LoadSharedOp::create(b, loc, block, shared, slot);
    load.getResult().replaceAllUsesWith(v);
  }
  load.erase();
}

void Staging::stageOnce(ArrayRef<Staged> loads) {
  for (const Staged &s : loads) {
    LoadOp load = s.load;
    b.setInsertionPoint(load);
    Location loc = load.getLoc();
    Value shared = allocate(load, 1);
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    if (load->getParentOfType<LoopLikeOpInterface>())
      BarrierOp::create(b, loc); // the last iteration may still be read
    copy(load, load.getIndices(), shared, zero);
    CommitCopiesOp::create(b, loc);
    WaitCopiesOp::create(b, loc, 0);
    BarrierOp::create(b, loc);
    read(s, shared, zero);
  }
}

std::vector<SmallVector<Value>>
Staging::indicesAt(scf::ForOp loop, ArrayRef<Staged> loads, Value counter) {
  SetVector<Operation *> slice;
  for (const Staged &s : loads)
    (void)sliceOf(loop, LoadOp(s.load).getIndices(), slice);
  IRMapping map;
  map.map(loop.getInductionVar(), counter);
  for (Operation *op : slice)
    b.clone(*op, map);
  std::vector<SmallVector<Value>> all;
  for (const Staged &s : loads) {
    SmallVector<Value> indices;
    for (Value v : LoadOp(s.load).getIndices())
      indices.push_back(map.lookupOrDefault(v));
    all.push_back(indices);
  }
  return all;
}

/// Whether nothing of `load` is inside of its view after the last iteration.
static bool endsWithView(LoadOp load, scf::ForOp loop) {
  auto end = getConstantIntValue(loop.getUpperBound());
  auto view = cast<ViewType>(load.getView().getType());
  return end && llvm::any_of(llvm::enumerate(load.getIndices()), [&](auto it) {
           int64_t size = view.getShape()[it.index()];
           return it.value() == loop.getInductionVar() &&
                  !ShapedType::isDynamic(size) && size <= *end;
         });
}

void Staging::inLoop(scf::ForOp loop, ArrayRef<Staged> loads, Value counter,
                     llvm::function_ref<void()> copies) {
  if (llvm::all_of(loads,
                   [&](const Staged &s) { return endsWithView(s.load, loop); }))
    return copies();
  Location loc = loop.getLoc();
  Value is = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, counter,
                                   loop.getUpperBound());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(
      &scf::IfOp::create(b, loc, is).getThenRegion().front());
  copies();
}

bool Staging::stageLoop(scf::ForOp loop, ArrayRef<Staged> all) {
  if (loop.getUnsignedCmp())
    return false;
  SmallVector<Staged> loads;
  for (const Staged &s : all) {
    SetVector<Operation *> slice;
    LoadOp load = s.load;
    if (succeeded(sliceOf(loop, load.getIndices(), slice)) &&
        loop.isDefinedOutsideOfLoop(load.getView()))
      loads.push_back(s);
  }
  if (loads.empty())
    return false;
  Location loc = loop.getLoc();
  b.setInsertionPoint(loop);
  SmallVector<Value> buffers;
  for (const Staged &s : loads)
    buffers.push_back(allocate(s.load, stages));

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
    Value slot = constant(s);
    inLoop(loop, loads, counter, [&] {
      auto indices = indicesAt(loop, loads, counter);
      for (auto [i, staged] : llvm::enumerate(loads))
        copy(staged.load, indices[i], buffers[i], slot);
    });
    CommitCopiesOp::create(b, loc);
  }

  // The loop carries the slot that it reads, in 32 bits: fewer registers.
  auto number = [&](OpBuilder &at, int64_t v) -> Value {
    return arith::ConstantOp::create(at, loc, at.getI32IntegerAttr(v));
  };
  auto nextOf = [&](OpBuilder &at, Value slot) -> Value {
    Value next = arith::AddIOp::create(at, loc, slot, number(at, 1));
    Value wraps = arith::CmpIOp::create(at, loc, arith::CmpIPredicate::eq, next,
                                        number(at, stages));
    return arith::SelectOp::create(at, loc, wraps, number(at, 0), next);
  };
  auto indexOf = [&](Value slot) -> Value {
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), slot);
  };
  IRRewriter rewriter(b);
  rewriter.setInsertionPoint(loop);
  Value first = number(rewriter, 0);
  auto replaced = loop.replaceWithAdditionalYields(
      rewriter, {first}, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &builder, Location, ArrayRef<BlockArgument> carried)
          -> SmallVector<Value> { return {nextOf(builder, carried[0])}; });
  loop = cast<scf::ForOp>(replaced->getOperation());
  Value carried = loop.getRegionIterArgs().back();

  b.setInsertionPointToStart(loop.getBody());
  WaitCopiesOp::create(b, loc, std::max<int64_t>(0, stages - 2));
  BarrierOp::create(b, loc);
  if (stages > 1) {
    Value ahead = advance(loop.getInductionVar(), stages - 1);
    Value target; // the slot before this one
    if (stages == 2) {
      target = nextOf(b, carried);
    } else {
      Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                            carried, number(b, 0));
      target = arith::SelectOp::create(
          b, loc, isFirst, number(b, stages - 1),
          arith::SubIOp::create(b, loc, carried, number(b, 1)));
    }
    target = indexOf(target);
    inLoop(loop, loads, ahead, [&] {
      auto indices = indicesAt(loop, loads, ahead);
      for (auto [i, staged] : llvm::enumerate(loads))
        copy(staged.load, indices[i], buffers[i], target);
    });
    CommitCopiesOp::create(b, loc);
  }
  Value slot = indexOf(carried);
  for (auto [i, staged] : llvm::enumerate(loads))
    read(staged, buffers[i], slot);
  // Nothing may be under way when the kernel goes on or ends.
  b.setInsertionPointAfter(loop);
  WaitCopiesOp::create(b, loc, 0);
  return true;
}

void Staging::run() {
  llvm::MapVector<Operation *, SmallVector<Staged>> byParent;
  kernel.walk([&](LoadOp load) {
    if (byChunks(load))
      if (auto staged = stagedOf(load))
        byParent[load->getParentOp()].push_back(*staged);
  });
  for (auto &[parent, loads] : byParent) {
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (!loop || stages < 2 || !stageLoop(loop, loads))
      stageOnce(loads);
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
