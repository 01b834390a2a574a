// SPDX-License-Identifier: Apache-2.0
//
// Parallel loops become a number: block i executes the i-th run of iterations.
// The runtime calls blocks in any order, from any thread. So a kernel has
// several blocks only if nothing outside its loops must happen once, iterations
// share no temporary, and no loop writes what another touches. Otherwise its
// loops run in order in one block.
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/groups-to-host/HostKernelForm.h"
#include "passes/groups-to-host/Passes.h"

namespace act {
#define GEN_PASS_DEF_LOWERHOSTBLOCKLOOPSPASS
#include "passes/groups-to-host/Passes.h.inc"
} // namespace act

using namespace mlir;

namespace {

struct Loop {
  scf::ForallOp op;
  SmallVector<int64_t> lower, step, trips;
  int64_t total = 1, perBlock = 1, blocks = 1;
};

/// Groups iterations into at least 8 blocks if there is enough work and at most
/// 256, whatever the number of threads.
void shareOut(Loop &loop, int64_t work) {
  constexpr int64_t maxBlocks = 256, minBlocks = 8, minWork = 16384;
  loop.perBlock = llvm::divideCeil(loop.total, maxBlocks);
  if (work > 0) {
    int64_t worthIt = llvm::divideCeil(minWork, work);
    bool tiny = work * loop.total < 2 * minWork;
    int64_t most = tiny ? loop.total : llvm::divideCeil(loop.total, minBlocks);
    loop.perBlock = std::max(loop.perBlock, std::min(worthIt, most));
  }
  loop.perBlock = std::max<int64_t>(loop.perBlock, 1);
  loop.blocks =
      std::max<int64_t>(llvm::divideCeil(loop.total, loop.perBlock), 1);
}

/// Writes outside the parallel loops happen once, so they allow one block only.
bool worksOutside(func::FuncOp func) {
  for (Operation &op : func.getBody().front()) {
    if (isa<scf::ForallOp, func::ReturnOp, memref::AllocOp, memref::DeallocOp>(
            op))
      continue;
    if (op.getNumRegions() || !isMemoryEffectFree(&op)) {
      if (isa<memref::LoadOp>(op))
        continue;
      return true;
    }
  }
  return false;
}

/// Buffers allocated outside are shared between iterations; in per-thread
/// scratch that only works in one block.
bool sharesTemporaries(func::FuncOp func) {
  for (auto alloc : func.getBody().front().getOps<memref::AllocOp>())
    if (!alloc->use_empty())
      return true;
  return false;
}

/// Follows views to the memory behind them.
Value memoryOf(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    auto view = dyn_cast<ViewLikeOpInterface>(def);
    if (!view)
      break;
    value = view.getViewSource();
  }
  return value;
}

/// The memory that a loop reads and writes, each as the buffer behind its
/// views.
void collectUses(Operation *loop, llvm::SmallPtrSetImpl<Value> &read,
                 llvm::SmallPtrSetImpl<Value> &written) {
  loop->walk([&](Operation *op) {
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
      for (Value out : linalgOp.getDpsInits())
        written.insert(memoryOf(out));
      for (Value in : linalgOp.getDpsInputs())
        read.insert(memoryOf(in));
      for (Value out : linalgOp.getDpsInits())
        read.insert(memoryOf(out));
    } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
      written.insert(memoryOf(store.getMemref()));
    } else if (auto load = dyn_cast<memref::LoadOp>(op)) {
      read.insert(memoryOf(load.getMemref()));
    } else if (auto copy = dyn_cast<memref::CopyOp>(op)) {
      read.insert(memoryOf(copy.getSource()));
      written.insert(memoryOf(copy.getTarget()));
    }
  });
}

/// Whether no loop writes what another touches: their blocks may then run at
/// the same time.
bool areIndependent(ArrayRef<Loop> loops) {
  for (const Loop &first : loops)
    for (const Loop &second : loops) {
      if (first.op == second.op)
        continue;
      llvm::SmallPtrSet<Value, 8> read, written, otherRead, otherWritten;
      collectUses(first.op, read, written);
      collectUses(second.op, otherRead, otherWritten);
      for (Value value : written)
        if (otherRead.contains(value) || otherWritten.contains(value))
          return false;
    }
  return true;
}

class BlockLoops {
public:
  BlockLoops(func::FuncOp func) : func(func), builder(func.getContext()) {}

  LogicalResult run() {
    auto works = func->getAttrOfType<ArrayAttr>(act::kWorkAttr);
    SmallVector<Loop> loops;
    for (auto forall : func.getOps<scf::ForallOp>()) {
      Loop loop;
      loop.op = forall;
      if (failed(measure(loop)))
        return failure();
      unsigned index = loops.size();
      shareOut(loop, works && index < works.size()
                         ? cast<IntegerAttr>(works[index]).getInt()
                         : 0);
      loops.push_back(loop);
    }
    Location loc = func.getLoc();
    Block &entry = func.getBody().front();
    Value block64 = entry.addArgument(builder.getI64Type(), loc);
    func.setFunctionType(
        FunctionType::get(func.getContext(), entry.getArgumentTypes(), {}));
    if (auto attrs = func.getArgAttrsAttr()) {
      SmallVector<Attribute> extended(attrs.begin(), attrs.end());
      extended.push_back(DictionaryAttr::get(func.getContext()));
      func.setArgAttrsAttr(builder.getArrayAttr(extended));
    }
    builder.setInsertionPointToStart(&entry);
    block = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                       block64);
    // Several loops take consecutive ranges of blocks, so they run at the same
    // time too.
    bool parallel = !loops.empty() && !worksOutside(func) &&
                    !sharesTemporaries(func) && areIndependent(loops);
    int64_t grid = 0;
    for (Loop &loop : loops) {
      // The previous loop, and the insertion point before it, are gone.
      builder.setInsertionPoint(loop.op);
      if (parallel)
        lowerToBlocks(loop, grid, loops.size() > 1);
      else
        lowerToLoop(loop, constant(0), constant(loop.total));
      grid += loop.blocks;
    }
    func->setAttr(act::kGridAttr,
                  builder.getI64IntegerAttr(parallel ? grid : 1));
    func->removeAttr(act::kWorkAttr);
    return lowerInner();
  }

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, func.getLoc(), value);
  }

  LogicalResult measure(Loop &loop) {
    if (loop.op->getNumResults())
      return loop.op->emitOpError("still works on tensors");
    for (auto [lower, upper, step] :
         llvm::zip(loop.op.getMixedLowerBound(), loop.op.getMixedUpperBound(),
                   loop.op.getMixedStep())) {
      auto l = getConstantIntValue(lower), u = getConstantIntValue(upper),
           s = getConstantIntValue(step);
      if (!l || !u || !s || *s <= 0)
        return loop.op->emitOpError(
            "has bounds that are not constant: a grid depends on shapes only");
      loop.lower.push_back(*l);
      loop.step.push_back(*s);
      loop.trips.push_back(std::max<int64_t>(llvm::divideCeil(*u - *l, *s), 0));
      loop.total *= loop.trips.back();
    }
    return success();
  }

  /// `loop` as blocks from `first` on. If other loops have blocks too
  /// (`shared`), a guard runs this one only in its own.
  void lowerToBlocks(Loop &loop, int64_t first, bool shared) {
    Location loc = loop.op.getLoc();
    builder.setInsertionPoint(loop.op);
    Value local = block;
    if (shared) {
      Value low = constant(first), high = constant(first + loop.blocks);
      Value after = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::uge, block, low);
      Value before = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::ult, block, high);
      Value mine = arith::AndIOp::create(builder, loc, after, before);
      auto guard = scf::IfOp::create(builder, loc, mine, /*else=*/false);
      builder.setInsertionPointToStart(guard.thenBlock());
      local = arith::SubIOp::create(builder, loc, block, low);
    }
    if (loop.perBlock == 1) {
      inlineBody(loop, local, builder);
      loop.op.erase();
      return;
    }
    Value run = constant(loop.perBlock);
    Value begin = arith::MulIOp::create(builder, loc, local, run);
    Value end = arith::AddIOp::create(builder, loc, begin, run);
    if (loop.total % loop.perBlock)
      end = arith::MinUIOp::create(builder, loc, end, constant(loop.total));
    lowerToLoop(loop, begin, end);
  }

  void lowerToLoop(Loop &loop, Value begin, Value end) {
    if (builder.getInsertionBlock() == loop.op->getBlock())
      builder.setInsertionPoint(loop.op);
    Value one = constant(1);
    auto serial =
        scf::ForOp::create(builder, loop.op.getLoc(), begin, end, one);
    OpBuilder body = OpBuilder::atBlockBegin(serial.getBody());
    inlineBody(loop, serial.getInductionVar(), body);
    loop.op.erase();
  }

  /// Row-major: the last dimension changes fastest. A loop over (4, 8) with
  /// steps of (16, 32) is
  ///
  ///     %i = %number / 8 * 16     %j = %number % 8 * 32
  void inlineBody(Loop &loop, Value number, OpBuilder &body) {
    Location loc = loop.op.getLoc();
    auto index = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(body, loc, value);
    };
    IRMapping mapping;
    for (int64_t d = loop.trips.size() - 1; d >= 0; --d) {
      Value position = number;
      if (d > 0) {
        Value trips = index(loop.trips[d]);
        position = arith::RemUIOp::create(body, loc, number, trips);
        number = arith::DivUIOp::create(body, loc, number, trips);
      }
      if (loop.step[d] != 1)
        position =
            arith::MulIOp::create(body, loc, position, index(loop.step[d]));
      if (loop.lower[d] != 0)
        position =
            arith::AddIOp::create(body, loc, position, index(loop.lower[d]));
      mapping.map(loop.op.getInductionVars()[d], position);
    }
    for (Operation &op : loop.op.getBody()->without_terminator())
      body.clone(op, mapping);
  }

  /// A forall inside another one runs in order.
  LogicalResult lowerInner() {
    while (true) {
      scf::ForallOp inner;
      func.walk([&](scf::ForallOp op) { inner = op; });
      if (!inner)
        return success();
      Loop loop;
      loop.op = inner;
      if (failed(measure(loop)))
        return failure();
      builder.setInsertionPoint(inner);
      lowerToLoop(loop, constant(0), constant(loop.total));
    }
  }

  func::FuncOp func;
  OpBuilder builder;
  Value block;
};

struct LowerHostBlockLoops
    : act::impl::LowerHostBlockLoopsPassBase<LowerHostBlockLoops> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(act::checkMemoryKernel(func)) ||
          failed(BlockLoops(func).run()))
        return signalPassFailure();
  }
};

} // namespace
