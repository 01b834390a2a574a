// SPDX-License-Identifier: Apache-2.0
//
// Dots that become wgmma, as products that run beside other work. Operands come
// from shared memory: loads by a ring, which is made later, computed blocks by
// a store. A stays in registers if it is computed, or as the schedule says.
//
//     %r = tile.dot %a, %b, %acc        %s = tile.to_shared %x, for %b and %a
//                                       %0 = tile.begin_dot %acc
//                                       %1 = tile.dot_async %a, %s, %0
//                                       %r = tile.dot_result %1
//
// Sums that are only added to stay pending, from one product to the next and
// from one iteration of a loop to the next.
#include "passes/tile/DotOrder.h"
#include "passes/tile/DotWarps.h"
#include "passes/tile/Layouts.h"
#include "passes/tile/Passes.h"
#include "passes/tile/StagedLoads.h"
#include "passes/tile/threads/SharedForm.h"

namespace act::tile {
#define GEN_PASS_DEF_ASYNCDOTSPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

/// An operand before the conversion to the fragment's layout, and whether it is
/// transposed on the way.
struct Source {
  Value block;
  bool isTransposed;
};

Source sourceOf(Value operand) {
  if (auto conversion = operand.getDefiningOp<ConvertLayoutOp>())
    operand = conversion.getInput();
  if (auto trans = operand.getDefiningOp<TransOp>())
    return {trans.getInput(), true};
  return {operand, false};
}

/// The block in `memory`, its dimensions swapped where the operand's are.
Value viewOf(Value memory, const Source &source, OpBuilder &b, Location loc) {
  if (!source.isTransposed)
    return memory;
  auto type = cast<SharedType>(memory.getType());
  ArrayRef<int64_t> shape = type.getShape();
  SharedLayoutAttr layout = type.getLayout();
  auto swapped = SharedType::get(
      {shape[1], shape[0]}, type.getElementType(),
      SharedLayoutAttr::get(b.getContext(), layout.getSwizzle(),
                            layout.getPairs(), /*transposed=*/true));
  return SharedViewOp::create(b, loc, swapped, memory, ValueRange());
}

/// The memory of a block that is loaded only to be multiplied.
Value staged(const Source &source, OpBuilder &b, Location loc) {
  auto type = swizzledMemory(cast<RankedTensorType>(source.block.getType()));
  return viewOf(ToSharedOp::create(b, loc, type, source.block), source, b, loc);
}

/// Computed blocks that are in shared memory already.
using Stored = llvm::DenseMap<Value, Value>;

/// A computed block, stored for the asynchronous product to read.
Value stored(const Source &source, OpBuilder &b, Location loc, Stored &known) {
  Value &before = known[source.block];
  if (before && before.getParentBlock() == b.getInsertionBlock())
    return viewOf(before, source, b, loc);
  auto type = swizzledMemory(cast<RankedTensorType>(source.block.getType()));
  Value memory = AllocSharedOp::create(b, loc, type, IntegerAttr());
  StoreSharedOp::create(b, loc, source.block, memory, ValueRange(),
                        DenseI64ArrayAttr());
  FenceSharedOp::create(b, loc);
  BarrierOp::create(b, loc);
  before = memory;
  return viewOf(memory, source, b, loc);
}

/// The sum of another product is in the registers that a first operand is read
/// from; what is elsewhere goes by way of memory.
bool isInRegisters(DotOp dot, const Source &a, FirstOperand from) {
  if (from != FirstOperand::WhereItIs)
    return from == FirstOperand::Registers;
  return !isStaged(a.block) && a.block == dot.getA();
}

void makeAsync(DotOp dot, FirstOperand from, Stored &known) {
  OpBuilder b(dot);
  Location loc = dot.getLoc();
  auto inMemory = [&](const Source &source) {
    return isStaged(source.block) ? staged(source, b, loc)
                                  : stored(source, b, loc, known);
  };
  Source a = sourceOf(dot.getA()), n = sourceOf(dot.getB());
  Value first = isInRegisters(dot, a, from) ? dot.getA() : inMemory(a);
  Value second = inMemory(n);
  Value acc =
      BeginDotOp::create(b, loc, PendingType::get(dot.getType()), dot.getAcc());
  Value sum = DotAsyncOp::create(b, loc, acc.getType(), first, second, acc,
                                 dot.getInstructionAttr());
  dot.replaceAllUsesWith(
      DotResultOp::create(b, loc, dot.getType(), sum).getResult());
  Value factors[] = {dot.getA(), dot.getB()};
  dot.erase();
  for (Value factor : factors)
    while (Operation *op = factor.getDefiningOp()) {
      if (!isa<ConvertLayoutOp, TransOp>(op) || !op->use_empty())
        break;
      factor = op->getOperand(0);
      op->erase();
    }
}

/// The sum goes on pending to the product that adds to it next, if nothing else
/// reads it. Only products of one shape are in flight on the same registers.
void chain(BeginDotOp begin) {
  auto next = dyn_cast<DotAsyncOp>(*begin->user_begin());
  auto result = begin.getBlock().getDefiningOp<DotResultOp>();
  if (!result || !result->hasOneUse() ||
      result->getBlock() != begin->getBlock())
    return;
  auto before = result.getPending().getDefiningOp<DotAsyncOp>();
  if (!next || !before || next.getInstruction() != before.getInstruction())
    return;
  begin.replaceAllUsesWith(result.getPending());
  begin.erase();
  result.erase();
}

/// The operands of a product that may run on into the next iteration are in a
/// ring: registers, and memory that an iteration stores to, are needed again
/// before.
bool mayRunOn(DotAsyncOp dot) {
  return llvm::all_of(ValueRange{dot.getA(), dot.getB()}, [](Value v) {
    if (auto view = v.getDefiningOp<SharedViewOp>())
      v = view.getShared();
    return isa_and_nonnull<ToSharedOp>(v.getDefiningOp());
  });
}

/// Whether the loop's body only adds products to the carried block: from
/// `begin`, its one reader, to the yielded `result`.
bool onlyAdds(BeginDotOp begin, DotResultOp result) {
  Value v = result.getPending();
  while (auto dot = v.getDefiningOp<DotAsyncOp>()) {
    if (!mayRunOn(dot) || dot->getBlock() != begin->getBlock())
      return false;
    v = dot.getAcc();
  }
  return v == begin.getResult();
}

/// Lets a loop carry pending sums in place of blocks.
void carry(scf::ForOp loop) {
  for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i) {
    BlockArgument carried = loop.getRegionIterArg(i);
    Operation *yield = loop.getBody()->getTerminator();
    auto result = yield->getOperand(i).getDefiningOp<DotResultOp>();
    auto begin = carried.hasOneUse()
                     ? dyn_cast<BeginDotOp>(*carried.getUsers().begin())
                     : BeginDotOp();
    if (!result || !begin || !result->hasOneUse() || !onlyAdds(begin, result))
      continue;
    IRRewriter b(loop);
    Location loc = result.getLoc();
    Value init =
        BeginDotOp::create(b, loc, begin.getType(), loop.getInitArgs()[i]);
    Value pending = result.getPending();
    auto replaced = loop.replaceWithAdditionalYields(
        b, {init}, /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &, Location, ArrayRef<BlockArgument>) {
          return SmallVector<Value>{pending};
        });
    loop = cast<scf::ForOp>(replaced->getOperation());
    begin.replaceAllUsesWith(Value(loop.getRegionIterArgs().back()));
    begin.erase();
    // What was carried stays as it is; canonicalisation drops it.
    loop.getBody()->getTerminator()->setOperand(i, loop.getRegionIterArg(i));
    result.erase();
    b.setInsertionPointAfter(loop);
    Value sum = DotResultOp::create(
        b, loc, cast<PendingType>(pending.getType()).getBlock(),
        loop.getResults().back());
    loop.getResult(i).replaceAllUsesWith(sum);
  }
}

bool mayWrite(Operation &op) {
  return op
      .walk([](Operation *inside) {
        return isa<StoreOp, AtomicAddOp, WaitTurnOp, PassTurnOp>(inside)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Blocks that only what follows the products needs are loaded right after the
/// loop: not before, where registers would hold them all the while, and no
/// later, as the last products still run.
void loadAfter(scf::ForOp loop) {
  Block &block = *loop->getBlock();
  auto isNeededFrom = [&](LoadOp load) {
    return llvm::all_of(load->getUsers(), [&](Operation *user) {
      Operation *own = block.findAncestorOpInBlock(*user);
      return own && loop->isBeforeInBlock(own);
    });
  };
  auto isKnown = [&](Value v) {
    Operation *op = v.getDefiningOp();
    return !op || op->getBlock() != &block || op->isBeforeInBlock(loop);
  };
  SmallVector<LoadOp> late;
  for (LoadOp load : block.getOps<LoadOp>()) {
    auto type = dyn_cast<RankedTensorType>(load.getType());
    if (!type || type.getRank() < 2 || load->use_empty())
      continue;
    const bool isBefore = load->isBeforeInBlock(loop);
    auto between =
        isBefore ? llvm::make_range(load->getIterator(), loop->getIterator())
                 : llvm::make_range(loop->getIterator(), load->getIterator());
    if (!mayWrite(*loop) && llvm::none_of(between, mayWrite) &&
        (isBefore ? isNeededFrom(load)
                  : llvm::all_of(load->getOperands(), isKnown)))
      late.push_back(load);
  }
  for (LoadOp load : llvm::reverse(late))
    load->moveAfter(loop);
}

struct AsyncDots : act::tile::impl::AsyncDotsPassBase<AsyncDots> {
  void runOnOperation() override {
    SmallVector<DotOp> dots;
    getOperation()->walk([&](DotOp dot) {
      if (isWgmma(dot))
        dots.push_back(dot);
    });
    Stored known;
    for (DotOp dot : dots) {
      auto kernel = dot->getParentOfType<gpu::GPUFuncOp>();
      makeAsync(dot, getSchedule(kernel).getA(), known);
    }
    getOperation()->walk([](BeginDotOp begin) { chain(begin); });
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) { loops.push_back(loop); });
    // Inner loops first: an outer one then carries what they leave pending.
    llvm::for_each(loops, carry);
    getOperation()->walk([](scf::ForOp loop) {
      if (!loop.getBody()->getOps<DotAsyncOp>().empty())
        loadAfter(loop);
    });
    llvm::SmallSetVector<Block *, 4> blocks;
    getOperation()->walk(
        [&](DotAsyncOp dot) { blocks.insert(dot->getBlock()); });
    for (Block *block : blocks)
      orderDots(*block);
  }
};

} // namespace
