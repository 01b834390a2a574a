// SPDX-License-Identifier: Apache-2.0
//
// Stages operands of dots through shared memory.
//
//   before a loop   copies of iterations 0 … stages − 2, a group for each
//   in iteration i  wait for the group of iteration i; barrier
//                   start the copies of iteration i + stages − 1, into the slot
//                   of iteration i − 1: by the barrier, all have read it
//                   read slot i mod stages
//
// With three stages, before and after:
//
//     scf.for %k {                        copies of iterations 0 and 1
//       %a = tile.load %x[%i, %k]         scf.for %k, %slot {
//       %f = tile.convert_layout %a         tile.wait_copies 1; tile.barrier
//       tile.dot %f, ..                     tile.copy_async %x[..] to %ring[..]
//     }                                     tile.commit_copies
//                                           %f = tile.load_shared %ring[%slot]
//                                           tile.dot %f, ..
//                                         }
//
// No copies are made for iterations past the last. The loop's end is checked
// only where the view does not end there too.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "passes/tile/Passes.h"
#include "passes/tile/StagedLoads.h"

namespace act::tile {
#define GEN_PASS_DEF_STAGELOADSPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act;
using namespace act::tile;

namespace {

class Staging {
public:
  Staging(gpu::GPUFuncOp kernel)
      : kernel(kernel), warps(getSchedule(kernel).getWarps()),
        stages(getSchedule(kernel).getStages()), b(kernel.getContext()) {}
  void run();

private:
  Value allocate(LoadOp load, int64_t slots);
  /// copies() for the iteration `counter`, if there is one.
  void inLoop(scf::ForOp loop, ArrayRef<StagedLoad> loads, Value counter,
              llvm::function_ref<void()> copies);
  void stageOnce(ArrayRef<StagedLoad> loads);
  bool stageLoop(scf::ForOp loop, ArrayRef<StagedLoad> loads);

  gpu::GPUFuncOp kernel;
  int64_t warps, stages;
  OpBuilder b;
};

Value Staging::allocate(LoadOp load, int64_t slots) {
  return AllocSharedOp::create(b, load.getLoc(), ringType(load, slots),
                               IntegerAttr());
}

// Outside of loops, or where nothing can run ahead: copy, wait, read. It still
// saves registers, and ldmatrix reads the operand in its layout.
void Staging::stageOnce(ArrayRef<StagedLoad> loads) {
  for (const StagedLoad &s : loads) {
    LoadOp load = s.load;
    b.setInsertionPoint(load);
    Location loc = load.getLoc();
    Value shared = allocate(load, 1);
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    if (load->getParentOfType<LoopLikeOpInterface>())
      BarrierOp::create(b, loc); // the last iteration may still be read
    copyBlock(load, load.getView(), load.getIndices(), shared, zero, warps, b);
    CommitCopiesOp::create(b, loc);
    WaitCopiesOp::create(b, loc, 0);
    if (!s.shared.empty())
      FenceSharedOp::create(b, loc);
    BarrierOp::create(b, loc);
    readStaged(s, shared, zero, b);
  }
}

/// Whether `load` is entirely outside its view after the last iteration.
static bool endsWithView(LoadOp load, scf::ForOp loop) {
  auto end = getConstantIntValue(loop.getUpperBound());
  auto view = cast<ViewType>(load.getView().getType());
  return end && llvm::any_of(llvm::enumerate(load.getIndices()), [&](auto it) {
           int64_t size = view.getShape()[it.index()];
           return it.value() == loop.getInductionVar() &&
                  !ShapedType::isDynamic(size) && size <= *end;
         });
}

void Staging::inLoop(scf::ForOp loop, ArrayRef<StagedLoad> loads, Value counter,
                     llvm::function_ref<void()> copies) {
  if (llvm::all_of(loads, [&](const StagedLoad &s) {
        return endsWithView(s.load, loop);
      }))
    return copies();
  Location loc = loop.getLoc();
  Value is = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, counter,
                                   loop.getUpperBound());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(
      &scf::IfOp::create(b, loc, is).getThenRegion().front());
  copies();
}

// Every iteration commits one group, an empty one if it starts no copies.
// wait_copies counts groups, so `stages - 2` pending ones always means that
// this iteration's copies are there.
bool Staging::stageLoop(scf::ForOp loop, ArrayRef<StagedLoad> all) {
  if (loop.getUnsignedCmp())
    return false;
  SmallVector<StagedLoad> loads;
  for (const StagedLoad &s : all) {
    SetVector<Operation *> slice;
    LoadOp load = s.load;
    // A copy starts stages - 1 iterations early: its position must follow from
    // the counter alone, and the memory must not change in between.
    if (succeeded(sliceOf(loop, load.getIndices(), slice)) &&
        loop.isDefinedOutsideOfLoop(load.getView()) && !isWritten(load, loop))
      loads.push_back(s);
  }
  if (loads.empty())
    return false;
  Location loc = loop.getLoc();
  b.setInsertionPoint(loop);
  SmallVector<Value> buffers;
  for (const StagedLoad &s : loads)
    buffers.push_back(allocate(s.load, stages));

  // Prologue. The ring may share its place with memory that is still being
  // read.
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
      auto indices = indicesAt(loop, loads, counter, b);
      for (auto [i, staged] : llvm::enumerate(loads))
        copyBlock(staged.load, LoadOp(staged.load).getView(), indices[i],
                  buffers[i], slot, warps, b);
    });
    CommitCopiesOp::create(b, loc);
  }

  // The loop carries its read slot as i32: an index may take two registers.
  // Slot i mod stages would be a division in each iteration.
  auto number = [&](OpBuilder &at, int64_t v) -> Value {
    return arith::ConstantOp::create(at, loc, at.getI32IntegerAttr(v));
  };
  auto indexOf = [&](Value slot) -> Value {
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), slot);
  };
  IRRewriter rewriter(b);
  rewriter.setInsertionPoint(loop);
  Value first = number(rewriter, 0);
  auto replaced = loop.replaceWithAdditionalYields(
      rewriter, {first}, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &builder, Location,
          ArrayRef<BlockArgument> carried) -> SmallVector<Value> {
        return {nextSlot(carried[0], stages, builder, loc)};
      });
  loop = cast<scf::ForOp>(replaced->getOperation());
  Value carried = loop.getRegionIterArgs().back();

  b.setInsertionPointToStart(loop.getBody());
  WaitCopiesOp::create(b, loc, std::max<int64_t>(0, stages - 2));
  awaitCarried(loop, b);
  if (llvm::any_of(loads,
                   [](const StagedLoad &s) { return !s.shared.empty(); }))
    FenceSharedOp::create(b, loc);
  BarrierOp::create(b, loc);
  if (stages > 1) {
    Value ahead = advance(loop.getInductionVar(), stages - 1);
    Value target; // the slot before the current one
    if (stages == 2) {
      target = nextSlot(carried, stages, b, loc);
    } else {
      Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                            carried, number(b, 0));
      target = arith::SelectOp::create(
          b, loc, isFirst, number(b, stages - 1),
          arith::SubIOp::create(b, loc, carried, number(b, 1)));
    }
    target = indexOf(target);
    inLoop(loop, loads, ahead, [&] {
      auto indices = indicesAt(loop, loads, ahead, b);
      for (auto [i, staged] : llvm::enumerate(loads))
        copyBlock(staged.load, LoadOp(staged.load).getView(), indices[i],
                  buffers[i], target, warps, b);
    });
    CommitCopiesOp::create(b, loc);
  }
  Value slot = indexOf(carried);
  for (auto [i, staged] : llvm::enumerate(loads))
    readStaged(staged, buffers[i], slot, b);
  // No copy may be in flight when the kernel goes on or ends.
  b.setInsertionPointAfter(loop);
  WaitCopiesOp::create(b, loc, 0);
  return true;
}

void Staging::run() {
  for (auto &[parent, loads] : stagedLoads(kernel)) {
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
