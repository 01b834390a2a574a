// SPDX-License-Identifier: Apache-2.0
//
// One op on a block becomes one op per register of a thread. With 4 warps, a
// block of 64 x 80 has 40 registers:
//
//     %c = arith.addf %a, %b : tensor<64x80xf32, #layout>
//     %c0 = arith.addf %a0, %b0 : f32  ..  %c39 = arith.addf %a39, %b39 : f32
//
// This file sends each op on blocks to the file of its family (threads/), and
// writes the kernel anew in a second entry block. The old block stays until the
// end, because types, layouts and ranges are read from its ops.
#include "mlir/Analysis/Liveness.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/tile/AffineBlocks.h"
#include "passes/tile/KnownTarget.h"
#include "passes/tile/Layouts.h"
#include "passes/tile/Passes.h"
#include "passes/tile/PlaceOf.h"
#include "passes/tile/Raster.h"
#include "passes/tile/threads/BlockAccess.h"
#include "passes/tile/threads/Combine.h"
#include "passes/tile/threads/ThreadBuilder.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numeric>

namespace act::tile {
#define GEN_PASS_DEF_LOWERTOTHREADSPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

/// The operand that a minimum or maximum of numbers always is; null if that is
/// not known. Hardware compares no uniform registers, and a bound that is in
/// one keeps the loop's counters there, too.
static Value knownBound(Operation *op, ThreadBuilder &t) {
  const bool isMin = isa<arith::MinSIOp>(op);
  if ((!isMin && !isa<arith::MaxSIOp>(op)) ||
      !op->getResult(0).getType().isIndex())
    return {};
  Value x = op->getOperand(0), y = op->getOperand(1);
  auto isBelow = [&](Value a, Value b) {
    return t.sums.rangeOf(a).second <= t.sums.rangeOf(b).first;
  };
  if (isBelow(x, y))
    return isMin ? x : y;
  if (isBelow(y, x))
    return isMin ? y : x;
  return {};
}

// Barriers that sharing of memory needs come first, then the op's own code.
LogicalResult act::tile::lowerOp(Operation *op, ThreadBuilder &t) {
  t.loc = op->getLoc();
  t.current = op; // whose scratch it is
  if (t.shared.mustWait(op))
    t.barrier();
  if (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op))
    return lowerControl(op, t);
  if (isa<LoadOp, StoreOp, AtomicAddOp>(op))
    return lowerMemory(op, t);
  if (isa<IotaOp, TransOp, ReshapeOp, ExpandDimsOp, BroadcastOp, JoinOp,
          SplitOp>(op))
    return lowerShape(op, t);
  if (isa<ReduceOp>(op))
    return lowerReduce(op, t);
  if (isa<ScanOp>(op))
    return lowerScan(op, t);
  if (isa<DotOp>(op))
    return lowerDot(op, t);
  if (isa<PhiloxOp, AssertOp, PrintOp>(op))
    return lowerDebug(op, t);
  if (isa<BeginDotOp, DotAsyncOp, AwaitDotOp, DotResultOp>(op)) {
    lowerAsyncDot(op, t);
    return success();
  }
  if (isa<AllocSharedOp, CopyAsyncOp, CommitCopiesOp, WaitCopiesOp,
          LoadSharedOp, StoreSharedOp, BarrierOp, ConvertLayoutOp, SharedViewOp,
          ToSharedOp, FenceSharedOp, CopyTensorOp, StoreTensorOp, ReduceBulkOp,
          WaitStoresOp>(op))
    return lowerShared(op, t);
  if (isa<TicketOp, WaitTurnOp, PassTurnOp>(op))
    return lowerTurn(op, t);
  if (isa<RolesOp, MbarrierInitOp, MbarrierArriveOp, MbarrierArriveCopiesOp,
          MbarrierWaitOp, MbarrierExpectOp, AwaitGroupTurnOp, PassGroupTurnOp,
          ClusterBarrierOp>(op))
    return lowerRoles(op, t);
  if (isa<ViewOp, TransposedViewOp>(op)) // its readers ask for its parts
    return success();
  if (isa<ProgramIdOp, NumProgramsOp>(op)) {
    auto dimension = [](GridAxis axis) {
      return static_cast<gpu::Dimension>(axis);
    };
    if (auto id = dyn_cast<ProgramIdOp>(op)) {
      // With a raster, the number is computed (numberPrograms).
      int axis = int(id.getAxis());
      Value known = axis < 2 ? t.program[axis] : Value();
      if (id.getNumber())
        known = positionOf(t.scalar(id.getNumber()), id.getAxis(), getGrid(op),
                           t.b);
      t.scalars.map(
          id.getResult(),
          known ? known
                : gpu::BlockIdOp::create(t.b, t.loc, dimension(id.getAxis()))
                      .getResult());
    } else {
      t.scalars.map(
          op->getResult(0),
          gpu::GridDimOp::create(t.b, t.loc,
                                 dimension(cast<NumProgramsOp>(op).getAxis()))
              .getResult());
    }
    return success();
  }
  // What is left on blocks is elementwise, and what is on scalars only is
  // copied.
  if (touchesBlocks(op))
    return lowerElementwise(op, t);
  if (Value known = knownBound(op, t)) {
    t.scalars.map(op->getResult(0), t.scalar(known));
    return success();
  }
  if (isa<TileDialect>(op->getDialect()))
    return op->emitOpError("has no lowering to threads");
  for (auto [from, to] :
       llvm::zip(op->getResults(), t.b.clone(*op, t.scalars)->getResults()))
    t.scalars.map(from, to);
  return success();
}

// Runs of ops that draw random numbers are lowered register by register
// (RandomNumbers.cpp), all others op by op.
LogicalResult act::tile::lowerOps(Ops ops, ThreadBuilder &t) {
  for (auto it = ops.begin(); it != ops.end();) {
    Ops together = registerByRegister({it, ops.end()});
    if (drawNumbers(together)) {
      if (failed(lowerByRegister(together, t)))
        return failure();
      it = together.end();
      continue;
    }
    auto next = together.empty() ? std::next(it) : together.end();
    for (; it != next; ++it)
      if (failed(lowerOp(&*it, t)))
        return failure();
  }
  return success();
}

namespace {

struct LowerToThreads
    : act::tile::impl::LowerToThreadsPassBase<LowerToThreads> {
  using LowerToThreadsPassBase::LowerToThreadsPassBase;

  void runOnOperation() override {
    SmallVector<gpu::GPUFuncOp> kernels;
    getOperation()->walk([&](gpu::GPUFuncOp f) {
      if (f.isKernel())
        kernels.push_back(f);
    });
    auto gpu = knownTarget(target, &getContext());
    if (failed(gpu))
      return signalPassFailure();
    for (gpu::GPUFuncOp kernel : kernels)
      if (failed(checkLayouts(kernel)) || failed(lower(kernel, **gpu)))
        return signalPassFailure();
  }

  LogicalResult lower(gpu::GPUFuncOp kernel, const act::Target &gpu);
};

/// Guaranteed alignment of an argument's memory, up to 16 bytes. LLVM relies on
/// it: it merges adjacent accesses into one, padded with unrequested bytes as
/// long as they share an aligned chunk. This alignment keeps them inside the
/// array, too.
int64_t alignmentOf(BlockArgument argument) {
  auto view = dyn_cast<ViewType>(argument.getType());
  int64_t element =
      bytesOf(view ? view.getElementType()
                   : cast<PtrType>(argument.getType()).getElementType());
  SmallVector<int64_t> sizes;
  if (view)
    sizes.push_back(plainBytes(view));
  else
    for (Operation *user : argument.getUsers()) {
      auto made = dyn_cast<ViewOp>(user);
      sizes.push_back(made ? plainBytes(made.getType()) : 0);
    }
  int64_t all = 16;
  for (int64_t size : sizes)
    all = size ? std::gcd(all, size) : element;
  return all;
}

/// A layout tells how many registers a thread needs. Beyond the limit LLVM
/// would take unreasonably long.
LogicalResult checkRegisters(gpu::GPUFuncOp kernel) {
  WalkResult walked = kernel.walk([&](Operation *op) -> WalkResult {
    for (Type type : op->getResultTypes())
      if (auto block = dyn_cast<RankedTensorType>(type))
        if (auto layout = dyn_cast_or_null<LayoutAttr>(block.getEncoding()))
          if (layout.getNumRegisters() > mostElementsOfThread)
            return emitError(placeOf(op))
                   << "'" << op->getName() << "' op has a block of "
                   << block.getNumElements()
                   << " elements, of which a thread would hold "
                   << layout.getNumRegisters() << ", expected at most "
                   << mostElementsOfThread;
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

/// Longer code would not compile in reasonable time: finding equal loads takes
/// quadratic time.
LogicalResult checkLength(gpu::GPUFuncOp kernel) {
  constexpr int64_t most = int64_t(1) << 19;
  int64_t length = 0;
  kernel.walk([&](Operation *) { ++length; });
  if (length <= most)
    return success();
  return kernel.emitOpError()
         << "has " << length << " operations for each thread, expected at most "
         << most << ": its blocks are too large";
}

/// Maps the hardware's block order to programs as the raster says.
void numberPrograms(ThreadBuilder &t, gpu::GPUFuncOp kernel) {
  ScheduleAttr schedule = getSchedule(kernel);
  if (schedule.getRaster().empty())
    return;
  OpBuilder &b = t.b;
  ArrayRef<int64_t> grid = getGrid(kernel);
  auto constant = [&](int64_t n) -> Value {
    return arith::ConstantIndexOp::create(b, t.loc, n);
  };
  Value x = gpu::BlockIdOp::create(b, t.loc, gpu::Dimension::x),
        y = gpu::BlockIdOp::create(b, t.loc, gpu::Dimension::y);
  Value all = arith::MulIOp::create(b, t.loc, y, constant(grid[0]));
  Value number =
      rasterNumber(arith::AddIOp::create(b, t.loc, all, x), kernel, b);
  t.program[0] = arith::RemUIOp::create(b, t.loc, number, constant(grid[0]));
  t.program[1] = arith::DivUIOp::create(b, t.loc, number, constant(grid[0]));
  // Done: code that joins kernels counts their programs in hardware order.
  kernel->setAttr(scheduleName, schedule.withoutRaster());
}

/// Register bits that a block needs. Values that rematerialise for free, and
/// repeats of another block, need none.
int64_t bitsHeld(Value v) {
  auto pending = dyn_cast<PendingType>(v.getType());
  auto block =
      pending ? pending.getBlock() : dyn_cast<RankedTensorType>(v.getType());
  auto layout =
      block ? dyn_cast_or_null<LayoutAttr>(block.getEncoding()) : LayoutAttr();
  if (!layout ||
      isa_and_nonnull<arith::ConstantOp, tensor::SplatOp, IotaOp, ExpandDimsOp,
                      BroadcastOp, ReshapeOp, TransOp>(v.getDefiningOp()))
    return 0;
  return layout.getNumRegisters() *
         std::max(8u, block.getElementTypeBitWidth());
}

/// Warns of spills. Loop-carried values occupy registers all at once. So do
/// values needed again after a block reduction, though some of these can be
/// reloaded. The warning comes if the former exceed a thread's registers, or
/// the latter exceed them by half. The program's threads share the registers of
/// an SM equally, or as its roles say.
void warnOfSpills(gpu::GPUFuncOp kernel, const act::TargetLimits &limits) {
  ScheduleAttr schedule = getSchedule(kernel);
  int64_t most = std::min<int64_t>(
      limits.registersPerThread, limits.registersPerSm / schedule.getThreads());
  if (int64_t own = schedule.getComputeRegisters())
    most = std::min<int64_t>(own, limits.registersPerThread);
  auto warn =
      [&](Operation *op, StringRef what, int64_t bits) {
        op->emitWarning(what)
            << " blocks that take " << bits / 32
            << " registers of each thread of " << schedule.getWarps()
            << " warps, which has " << most
            << ": some of them spill; use more warps or smaller blocks";
      };
  bool warned = false;
  kernel.walk([&](scf::ForOp loop) {
    int64_t bits = 0;
    for (Value carried : loop.getRegionIterArgs())
      bits += bitsHeld(carried);
    if (bits > 32 * most) {
      warn(loop, "carries", bits);
      warned = true;
    }
  });
  if (warned)
    return;
  Liveness liveness(kernel);
  Operation *worst = nullptr;
  int64_t mostBits = 48 * most;
  kernel.walk([&](Operation *op) {
    if (!isa<ReduceOp, ScanOp>(op))
      return;
    int64_t bits = 0;
    for (Value v :
         liveness.getLiveness(op->getBlock())->currentlyLiveValues(op))
      if (!llvm::is_contained(op->getResults(), v) &&
          (!llvm::is_contained(op->getOperands(), v) ||
           !liveness.isDeadAfter(v, op)))
        bits += bitsHeld(v);
    if (bits > mostBits) {
      worst = op;
      mostBits = bits;
    }
  });
  if (worst)
    warn(worst, "has behind it", mostBits);
}

LogicalResult LowerToThreads::lower(gpu::GPUFuncOp kernel,
                                    const act::Target &gpu) {
  Region &body = kernel.getBody();
  if (!body.hasOneBlock())
    return kernel.emitOpError("has several basic blocks; a kernel's control "
                              "flow must use the scf dialect");
  if (getSchedule(kernel).getCopyWarps() &&
      body.front().getOps<RolesOp>().empty())
    return kernel.emitOpError("has copying warps in its schedule but no "
                              "tile.roles; run --tile-assign-roles first");
  if (failed(checkRegisters(kernel)))
    return failure();
  warnOfSpills(kernel, gpu.limits);
  sinkRandomNumbers(kernel);
  DataFlowSolver ranges;
  if (failed(findRanges(ranges, kernel)))
    return failure();

  Block &old = body.front();
  auto *fresh = new Block;
  auto global = LLVM::LLVMPointerType::get(&getContext(), 1);
  SmallVector<Type> arguments;
  SmallVector<int64_t> alignments;
  for (BlockArgument a : old.getArguments()) {
    bool pointer = isa<ViewType, PtrType>(a.getType());
    alignments.push_back(pointer ? alignmentOf(a) : 0);
    arguments.push_back(pointer ? Type(global)
                        : a.getType().isIndex()
                            ? IntegerType::get(&getContext(), 64)
                            : a.getType());
    fresh->addArgument(arguments.back(), a.getLoc());
  }
  body.push_back(fresh);
  OpBuilder b(&getContext());
  b.setInsertionPointToStart(fresh);
  ThreadBuilder t(kernel, b, getSchedule(kernel).getWarps(), ranges);
  for (auto [from, to] : llvm::zip(old.getArguments(), fresh->getArguments())) {
    // A launch passes 64 bits, whatever width an index has in the code.
    Value v = to;
    if (from.getType().isIndex())
      v = arith::IndexCastOp::create(b, kernel.getLoc(), b.getIndexType(), v);
    t.scalars.map(from, v);
  }
  b.setInsertionPointToEnd(fresh);
  t.loc = kernel.getLoc();
  t.sleepsAtMbarriers = gpu.features.suspendsAtMbarriers;
  t.addsVectors = gpu.features.vectorAdditions;
  t.storesMatrices = gpu.features.matrixStores;
  t.registersPerSm = gpu.limits.registersPerSm;
  t.hasTensorCopies =
      kernel.walk([](CopyTensorOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  numberPrograms(t, kernel);
  if (failed(lowerOps(old.without_terminator(), t)))
    return failure();
  gpu::ReturnOp::create(b, kernel.getLoc());
  // The new code has no use of the old; within the old, later ops use earlier
  // ones, so drop all uses before erasing.
  old.dropAllDefinedValueUses();
  old.erase();
  for (size_t i = 0; i < t.tensorMaps().size(); ++i)
    arguments.push_back(LLVM::LLVMPointerType::get(&getContext()));
  kernel.setFunctionType(FunctionType::get(&getContext(), arguments, {}));
  // Attributes come with all arguments or none.
  if (ArrayAttr all = kernel.getAllArgAttrs()) {
    SmallVector<Attribute> attributes(all.begin(), all.end());
    attributes.resize(arguments.size(), b.getDictionaryAttr({}));
    kernel.setAllArgAttrs(attributes);
  }
  for (auto [i, bytes] : llvm::enumerate(alignments))
    if (bytes)
      kernel.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                        b.getI64IntegerAttr(bytes));
  if (!t.tensorMaps().empty())
    kernel->setAttr(tensorMapsName,
                    b.getArrayAttr(SmallVector<Attribute>(
                        t.tensorMaps().begin(), t.tensorMaps().end())));
  kernel->setAttr("tile.shared_bytes", b.getI64IntegerAttr(t.shared.size()));
  if (failed(checkLength(kernel)))
    return failure();
  sinkSharedLoads(kernel);
  return success();
}

} // namespace
