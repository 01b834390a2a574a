// SPDX-License-Identifier: Apache-2.0
#include "passes/tile-to-nvvm/Passes.h"

namespace act::tile {
#define GEN_PASS_DEF_FINISHGPUKERNELSPASS
#include "passes/tile-to-nvvm/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act;

namespace {

struct FinishGpuKernels
    : act::tile::impl::FinishGpuKernelsPassBase<FinishGpuKernels> {
  void runOnOperation() override {
    StringRef most = NVVM::NVVMDialect::getMaxntidAttrName();
    StringRef required = NVVM::NVVMDialect::getReqntidAttrName();
    for (auto kernel : getOperation().getOps<LLVM::LLVMFuncOp>()) {
      Attribute block = kernel->getAttr(most);
      WalkResult moves = kernel.walk(
          [](NVVM::SetMaxRegisterOp) { return WalkResult::interrupt(); });
      if (!block || moves.wasInterrupted())
        continue;
      kernel->removeAttr(most);
      kernel->setAttr(required, block);
      // Give a block that needs them all registers: without a hint ptxas may
      // use half as many and spill.
      kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      Builder(kernel).getI32IntegerAttr(1));
    }
  }
};

} // namespace
