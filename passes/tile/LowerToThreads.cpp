// SPDX-License-Identifier: Apache-2.0
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/tile/AffineBlocks.h"
#include "passes/tile/Layouts.h"
#include "passes/tile/Passes.h"
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

/// Whether a block is among what the op takes and gives.
static bool touchesBlocks(Operation *op) {
  auto isBlock = [](Type t) { return ThreadBuilder::isBlock(t); };
  return llvm::any_of(op->getOperandTypes(), isBlock) ||
         llvm::any_of(op->getResultTypes(), isBlock);
}

LogicalResult act::tile::lowerOp(Operation *op, ThreadBuilder &t) {
  t.loc = op->getLoc();
  t.current = op;
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
  if (isa<AllocSharedOp, CopyAsyncOp, CommitCopiesOp, WaitCopiesOp,
          LoadSharedOp, StoreSharedOp, BarrierOp, ConvertLayoutOp>(op))
    return lowerShared(op, t);
  if (isa<TicketOp, WaitTurnOp, PassTurnOp>(op))
    return lowerTurn(op, t);
  if (isa<ViewOp, TransposedViewOp>(op)) // what reads it asks for its parts
    return success();
  if (isa<ProgramIdOp, NumProgramsOp>(op)) {
    auto dimension = [](GridAxis axis) {
      return static_cast<gpu::Dimension>(axis);
    };
    if (auto id = dyn_cast<ProgramIdOp>(op))
      t.scalars.map(id.getResult(),
                    gpu::BlockIdOp::create(t.b, t.loc, dimension(id.getAxis()))
                        .getResult());
    else
      t.scalars.map(
          op->getResult(0),
          gpu::GridDimOp::create(t.b, t.loc,
                                 dimension(cast<NumProgramsOp>(op).getAxis()))
              .getResult());
    return success();
  }
  if (touchesBlocks(op))
    return lowerElementwise(op, t);
  if (isa<TileDialect>(op->getDialect()))
    return op->emitOpError("has no lowering to threads");
  for (auto [from, to] :
       llvm::zip(op->getResults(), t.b.clone(*op, t.scalars)->getResults()))
    t.scalars.map(from, to);
  return success();
}

namespace {

struct LowerToThreads
    : act::tile::impl::LowerToThreadsPassBase<LowerToThreads> {
  void runOnOperation() override {
    SmallVector<gpu::GPUFuncOp> kernels;
    getOperation()->walk([&](gpu::GPUFuncOp f) {
      if (f.isKernel())
        kernels.push_back(f);
    });
    for (gpu::GPUFuncOp kernel : kernels)
      if (failed(checkLayouts(kernel)) || failed(lower(kernel)))
        return signalPassFailure();
  }

  LogicalResult lower(gpu::GPUFuncOp kernel);
};

/// What the memory of an argument surely is a multiple of, up to 16 bytes, and
/// so the alignment that LLVM may build on: it makes one access of several
/// beside each other, with bytes that nobody asked for as long as these are in
/// the same aligned chunk. With this they are in the same array, too.
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

/// A thread's code is as long as its blocks have registers; with more of them
/// than this, compiling it does not end in a reasonable time.
LogicalResult checkRegisters(gpu::GPUFuncOp kernel) {
  constexpr int64_t most = 4096;
  WalkResult walked = kernel.walk([&](Operation *op) -> WalkResult {
    for (Type type : op->getResultTypes())
      if (auto block = dyn_cast<RankedTensorType>(type))
        if (auto layout = dyn_cast_or_null<LayoutAttr>(block.getEncoding()))
          if (layout.getNumRegisters() > most)
            return op->emitOpError()
                   << "has a block of " << block.getNumElements()
                   << " elements, of which a thread would hold "
                   << layout.getNumRegisters() << ", expected at most " << most;
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

LogicalResult LowerToThreads::lower(gpu::GPUFuncOp kernel) {
  Region &body = kernel.getBody();
  if (!body.hasOneBlock())
    return kernel.emitOpError(
        "has several blocks; a kernel's control flow is scf's");
  if (failed(checkRegisters(kernel)))
    return failure();
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
    Value v = to;
    if (from.getType().isIndex())
      v = arith::IndexCastOp::create(b, kernel.getLoc(), b.getIndexType(), v);
    t.scalars.map(from, v);
  }
  b.setInsertionPointToEnd(fresh);
  for (Operation &op : old.without_terminator())
    if (failed(lowerOp(&op, t)))
      return failure();
  gpu::ReturnOp::create(b, kernel.getLoc());
  // Later ops use earlier ones.
  old.dropAllDefinedValueUses();
  old.erase();
  kernel.setFunctionType(FunctionType::get(&getContext(), arguments, {}));
  for (auto [i, bytes] : llvm::enumerate(alignments))
    if (bytes)
      kernel.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                        b.getI64IntegerAttr(bytes));
  kernel->setAttr("tile.shared_bytes", b.getI64IntegerAttr(t.shared.size()));
  return success();
}

} // namespace
