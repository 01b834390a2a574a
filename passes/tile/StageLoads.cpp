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
// With one stage that is early, in a loop of several products:
//
//     before a loop   copies for all products but the last, a group for each
//     for product g   wait for its group; barrier
//                     start the copies of product g - 1 of the next iteration,
//                     or, for the first one, of the last one of this iteration:
//                     by the barrier, all have read their place
//                     read; multiply
//
// No copies are made for iterations past the last. The loop's end is checked
// only where the view does not end there too.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "passes/tile/DotWarps.h"
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
  bool stageEarly(scf::ForOp loop, ArrayRef<StagedLoad> all);
  SmallVector<StagedLoad> movable(scf::ForOp loop, ArrayRef<StagedLoad> all);
  Value advance(scf::ForOp loop, Value counter, int64_t by);

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

/// The loads whose copies may start early: their position follows from the
/// counter alone, and the memory does not change in between.
SmallVector<StagedLoad> Staging::movable(scf::ForOp loop,
                                         ArrayRef<StagedLoad> all) {
  SmallVector<StagedLoad> loads;
  for (const StagedLoad &s : all) {
    SetVector<Operation *> slice;
    LoadOp load = s.load;
    if (succeeded(sliceOf(loop, load.getIndices(), slice)) &&
        loop.isDefinedOutsideOfLoop(load.getView()) && !isWritten(load, loop))
      loads.push_back(s);
  }
  return loads;
}

/// The counter so many iterations later.
Value Staging::advance(scf::ForOp loop, Value counter, int64_t by) {
  Location loc = loop.getLoc();
  Value step = loop.getStep();
  if (by != 1)
    step = arith::MulIOp::create(
        b, loc, step,
        arith::ConstantOp::create(b, loc,
                                  b.getIntegerAttr(counter.getType(), by)));
  return arith::AddIOp::create(b, loc, counter, step);
}

/// The product that is the only reader of a load in the loop's body, through
/// conversions; null if there is none.
static DotOp onlyReader(const StagedLoad &s, scf::ForOp loop) {
  DotOp reader;
  if (!s.shared.empty())
    return nullptr;
  for (ConvertLayoutOp conversion : s.conversions)
    for (Operation *user : conversion->getUsers()) {
      auto dot = dyn_cast<DotOp>(user);
      if (!dot || dot->getBlock() != loop.getBody() ||
          (reader && reader != dot))
        return nullptr;
      reader = dot;
    }
  // What reads the block itself, or its transpose, without a conversion.
  for (Operation *user : LoadOp(s.load)->getUsers())
    if (!isa<ConvertLayoutOp>(user) &&
        !(isa<TransOp>(user) &&
          llvm::all_of(user->getUsers(), llvm::IsaPred<ConvertLayoutOp>)))
      return nullptr;
  return reader;
}

// At most n - 2 younger groups are pending when product g's is waited for: it
// was started at the barrier of product g + 1, and each barrier starts one.
bool Staging::stageEarly(scf::ForOp loop, ArrayRef<StagedLoad> all) {
  if (loop.getUnsignedCmp())
    return false;
  SmallVector<StagedLoad> loads = movable(loop, all);
  llvm::MapVector<Operation *, SmallVector<StagedLoad>> byProduct;
  for (DotOp dot : loop.getBody()->getOps<DotOp>())
    for (const StagedLoad &s : loads)
      if (onlyReader(s, loop) == dot)
        byProduct[dot].push_back(s);
  const int64_t products = byProduct.size();
  if (products < 2 ||
      llvm::any_of(
          loads, [&](const StagedLoad &s) { return !onlyReader(s, loop); }))
    return false;
  auto groups = byProduct.takeVector();
  Location loc = loop.getLoc();
  b.setInsertionPoint(loop);
  std::vector<SmallVector<Value>> places;
  for (auto &[dot, own] : groups) {
    SmallVector<Value> &at = places.emplace_back();
    for (const StagedLoad &s : own)
      at.push_back(allocate(s.load, 1));
  }
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  auto start = [&](int64_t group, Value counter) {
    ArrayRef<StagedLoad> own = groups[group].second;
    auto copies = [&] {
      auto indices = indicesAt(loop, own, counter, b);
      for (auto [i, s] : llvm::enumerate(own))
        copyBlock(s.load, LoadOp(s.load).getView(), indices[i],
                  places[group][i], zero, warps, b);
    };
    if (counter == loop.getInductionVar())
      copies();
    else
      inLoop(loop, own, counter, copies);
    CommitCopiesOp::create(b, loc);
  };
  BarrierOp::create(b, loc);
  for (int64_t g = 0; g + 1 < products; ++g)
    start(g, loop.getLowerBound());
  for (int64_t g = 0; g < products; ++g) {
    if (g)
      b.setInsertionPointAfter(groups[g - 1].first);
    else
      b.setInsertionPointToStart(loop.getBody());
    WaitCopiesOp::create(b, loc, products - 2);
    BarrierOp::create(b, loc);
    if (g)
      start(g - 1, advance(loop, loop.getInductionVar(), 1));
    else
      start(products - 1, loop.getInductionVar());
  }
  for (auto [group, at] : llvm::zip_equal(groups, places))
    for (auto [s, place] : llvm::zip_equal(group.second, at)) {
      for (ConvertLayoutOp conversion : s.conversions)
        conversion->moveBefore(group.first);
      readStaged(s, place, zero, b);
    }
  b.setInsertionPointAfter(loop);
  WaitCopiesOp::create(b, loc, 0);
  return true;
}

// Every iteration commits one group, an empty one if it starts no copies.
// wait_copies counts groups, so `stages - 2` pending ones always means that
// this iteration's copies are there.
bool Staging::stageLoop(scf::ForOp loop, ArrayRef<StagedLoad> all) {
  if (loop.getUnsignedCmp())
    return false;
  SmallVector<StagedLoad> loads = movable(loop, all);
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
  for (int64_t s = 0; s + 1 < stages; ++s) {
    if (s)
      counter = advance(loop, counter, 1);
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
    Value ahead = advance(loop, loop.getInductionVar(), stages - 1);
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
  const bool isEarly = getSchedule(kernel).getEarly();
  bool anyEarly = false;
  for (auto &[parent, loads] : stagedLoads(kernel)) {
    auto loop = dyn_cast<scf::ForOp>(parent);
    const bool isDone = loop && (isEarly      ? stageEarly(loop, loads)
                                 : stages > 1 ? stageLoop(loop, loads)
                                              : false);
    anyEarly |= isEarly && isDone;
    if (!isDone)
      stageOnce(loads);
  }
  if (!isEarly || anyEarly)
    return;
  kernel->setAttr(scheduleName, getSchedule(kernel).withoutEarly());
  if (isByHand(kernel))
    kernel.emitWarning("is early, but has no loop of two products or more that "
                       "each have operands of their own");
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
