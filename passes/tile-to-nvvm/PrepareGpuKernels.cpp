// SPDX-License-Identifier: Apache-2.0
//
// Attributes that upstream's conversions and LLVM read, from what act
// guarantees of a launch.
#include "passes/tile-to-nvvm/Passes.h"
#include "passes/tile-to-nvvm/Schedule.h"

namespace act::tile {
#define GEN_PASS_DEF_PREPAREGPUKERNELSPASS
#include "passes/tile-to-nvvm/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act;

namespace {

struct PrepareGpuKernels
    : act::tile::impl::PrepareGpuKernelsPassBase<PrepareGpuKernels> {
  using PrepareGpuKernelsPassBase::PrepareGpuKernelsPassBase;

  LogicalResult prepare(gpu::GPUFuncOp kernel) {
    OpBuilder b(kernel);
    auto block = tile::blockSize(kernel);
    if (failed(block))
      return failure();
    kernel.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr(*block));
    if (auto schedule =
            kernel->getAttrOfType<tile::ScheduleAttr>(tile::scheduleName);
        schedule && schedule.getCluster() > 1)
      kernel.setKnownClusterSizeAttr(
          b.getDenseI32ArrayAttr({int32_t(schedule.getCluster()), 1, 1}));
    if (registers)
      kernel->setAttr(NVVM::NVVMDialect::getMaxnregAttrName(),
                      b.getI32IntegerAttr(int32_t(registers)));
    StringRef align = LLVM::LLVMDialect::getAlignAttrName();
    for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes())) {
      auto pointer = dyn_cast<LLVM::LLVMPointerType>(type);
      if (pointer && pointer.getAddressSpace() == 1 &&
          !kernel.getArgAttr(i, align))
        kernel.setArgAttr(i, align, b.getI64IntegerAttr(16));
    }
    return success();
  }

  /// Rejects rw registers: upstream swaps their operands and loses the result.
  LogicalResult checkInlinePtx(NVVM::InlinePtxOp op) {
    if (op.getReadWriteArgs().empty())
      return success();
    return op.emitOpError("with rw registers is compiled wrongly: expected "
                          "llvm.inline_asm with tied operands");
  }

  void runOnOperation() override {
    WalkResult walked = getOperation().walk(
        [&](NVVM::InlinePtxOp op) { return WalkResult(checkInlinePtx(op)); });
    if (walked.wasInterrupted())
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (kernel.isKernel() && failed(prepare(kernel)))
        return signalPassFailure();
  }
};

} // namespace
