// SPDX-License-Identifier: Apache-2.0
//
//     %c = arith.addf %a, %b           %c = memref.alloc() : memref<64xf32>
//         : tensor<64xf32>             scf.for %i = 0 to 64 {
//                                        %c[%i] = addf of %a[%i] and %b[%i] }
//
// Makes a function for one program from each kernel, and sends its ops to the
// file of their family. Nothing is optimised on the way: the path exists to be
// compared with the path through threads, so it must do what the kernel says in
// the simplest way.
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "passes/groups-to-host/Passes.h"
#include "passes/tile-to-host/HostBuilder.h"
#include "passes/tile-to-host/HostContext.h"

namespace act::tile {
#define GEN_PASS_DEF_CONVERTTILETOHOSTPASS
#include "passes/tile-to-host/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

/// program = x + grid x * (y + grid y * z).
static void lowerGrid(Operation *op, HostBuilder &h) {
  bool isId = isa<ProgramIdOp>(op);
  int axis = int(isId ? cast<ProgramIdOp>(op).getAxis()
                      : cast<NumProgramsOp>(op).getAxis());
  Value v = h.word(hostcontext::grid + axis);
  if (isId) {
    Value rest = h.programNumber;
    if (Value number = cast<ProgramIdOp>(op).getNumber())
      rest =
          arith::IndexCastOp::create(h.b, h.loc, v.getType(), h.scalar(number));
    for (int a = 0; a < axis; ++a)
      rest = arith::DivUIOp::create(h.b, h.loc, rest,
                                    h.word(hostcontext::grid + a));
    v = axis == 2 ? rest : Value(arith::RemUIOp::create(h.b, h.loc, rest, v));
  }
  h.scalars.map(op->getResult(0), h.asIndex(v));
}

LogicalResult act::tile::lowerOp(Operation *op, HostBuilder &h) {
  h.loc = op->getLoc();
  if (isa<scf::SCFDialect>(op->getDialect()))
    return lowerControl(op, h);
  if (isa<LoadOp, StoreOp, AtomicAddOp>(op))
    return lowerMemory(op, h);
  if (isa<TicketOp, WaitTurnOp, PassTurnOp>(op))
    return lowerTurn(op, h);
  if (isa<IotaOp, TransOp, ReshapeOp, ExpandDimsOp, BroadcastOp, JoinOp,
          SplitOp, ConvertLayoutOp>(op)) {
    return lowerShape(op, h);
  }
  if (isa<ReduceOp, ScanOp>(op))
    return lowerCombine(op, h);
  if (auto dot = dyn_cast<DotOp>(op))
    return lowerDot(dot, h);
  if (isa<PhiloxOp, AssertOp, PrintOp>(op))
    return lowerDebug(op, h);
  // Readers of a view ask for its parts; a single thread needs no barriers.
  if (isa<ViewOp, TransposedViewOp, BarrierOp>(op))
    return success();
  if (isa<ProgramIdOp, NumProgramsOp>(op)) {
    lowerGrid(op, h);
    return success();
  }
  if (isa<TileDialect>(op->getDialect()))
    return op->emitOpError("is about threads and their memory, which the host "
                           "does not have");
  return lowerBlockOp(op, h);
}

namespace {

struct ConvertTileToHost
    : act::tile::impl::ConvertTileToHostPassBase<ConvertTileToHost> {
  void runOnOperation() override {
    // Expand divisions that round up or down into guarded ones. No folding: run
    // exactly what the code says.
    RewritePatternSet patterns(&getContext());
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    SmallVector<gpu::GPUModuleOp> modules(
        getOperation().getOps<gpu::GPUModuleOp>());
    for (gpu::GPUModuleOp module : modules) {
      for (auto kernel : module.getOps<gpu::GPUFuncOp>())
        if (kernel.isKernel() && failed(lower(kernel)))
          return signalPassFailure();
    }
    for (gpu::GPUModuleOp module : modules)
      module.erase();
  }

  LogicalResult lower(gpu::GPUFuncOp kernel);
};

// The function has the kernel's parameters, then the context and the program's
// number.
LogicalResult ConvertTileToHost::lower(gpu::GPUFuncOp kernel) {
  if (!kernel.getBody().hasOneBlock())
    return kernel.emitOpError("has several basic blocks; a kernel's control "
                              "flow must use the scf dialect");
  Operation *other = getOperation().lookupSymbol(kernel.getName());
  if (other && !isa<gpu::GPUModuleOp>(other))
    return kernel.emitOpError("has the same name as another function");
  Block &old = kernel.getBody().front();
  auto b = OpBuilder::atBlockEnd(getOperation().getBody());
  auto pointer = LLVM::LLVMPointerType::get(&getContext());
  SmallVector<Type> types;
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    if (isa<ViewType, PtrType>(type))
      types.push_back(pointer);
    else if (type.isIndex() ||
             (type.isIntOrFloat() && type.getIntOrFloatBitWidth() <= 64))
      types.push_back(type);
    else
      return kernel.emitOpError()
             << "has a parameter of type " << type
             << ", expected views, pointers, integers, floats and index";
  }
  if (old.getNumArguments() != types.size())
    return kernel.emitOpError("has memory of a program's threads, which the "
                              "host does not have");
  types.push_back(pointer);
  types.push_back(b.getI64Type());
  auto function =
      func::FuncOp::create(b, kernel.getLoc(), kernel.getName(),
                           FunctionType::get(&getContext(), types, {}));
  Block *entry = function.addEntryBlock();
  HostBuilder h(kernel, b);
  h.scalars.map(old.getArguments(), entry->getArguments().drop_back(2));
  h.context = entry->getArgument(types.size() - 2);
  h.programNumber = entry->getArgument(types.size() - 1);
  b.setInsertionPointToEnd(entry);
  // After a failure, later programs do nothing.
  Value sound = arith::CmpIOp::create(b, h.loc, arith::CmpIPredicate::eq,
                                      h.word(hostcontext::failure), h.i64(0));
  auto guard = scf::IfOp::create(b, h.loc, TypeRange(), sound, false);
  func::ReturnOp::create(b, h.loc);
  b.setInsertionPointToStart(&guard.getThenRegion().front());
  h.takeSteps(&old);
  for (Operation &op : old.without_terminator())
    if (failed(lowerOp(&op, h)))
      return failure();
  // host-wrap-kernel exports functions with a grid.
  function->setAttr(act::kGridAttr, b.getI64IntegerAttr(1));
  function->setAttr(kChecksAttr, b.getArrayAttr(h.checks));
  return success();
}

} // namespace
