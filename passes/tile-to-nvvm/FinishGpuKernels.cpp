// SPDX-License-Identifier: Apache-2.0
#include "dialects/tile/Dialect.h"
#include "passes/tile-to-nvvm/Passes.h"

namespace act::tile {
#define GEN_PASS_DEF_FINISHGPUKERNELSPASS
#include "passes/tile-to-nvvm/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act;

namespace {

/// The last `maps` parameters are tensor maps: 128 bytes, which the copy engine
/// reads where the launch has put them.
void passByValue(LLVM::LLVMFuncOp kernel, size_t maps) {
  Builder b(kernel);
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), 128);
  for (size_t i = 0; i < maps; ++i) {
    unsigned argument = kernel.getNumArguments() - 1 - i;
    kernel.setArgAttr(argument, LLVM::LLVMDialect::getByValAttrName(),
                      TypeAttr::get(type));
    kernel.setArgAttr(argument, LLVM::LLVMDialect::getAlignAttrName(),
                      b.getI64IntegerAttr(64));
    kernel.setArgAttr(argument, NVVM::NVVMDialect::getGridConstantAttrName(),
                      b.getUnitAttr());
  }
}

struct FinishGpuKernels
    : act::tile::impl::FinishGpuKernelsPassBase<FinishGpuKernels> {
  void runOnOperation() override {
    StringRef most = NVVM::NVVMDialect::getMaxntidAttrName();
    StringRef required = NVVM::NVVMDialect::getReqntidAttrName();
    for (auto kernel : getOperation().getOps<LLVM::LLVMFuncOp>()) {
      if (auto maps = kernel->getAttrOfType<ArrayAttr>(tile::tensorMapsName))
        passByValue(kernel, maps.size());
      Attribute block = kernel->getAttr(most);
      WalkResult moves = kernel.walk(
          [](NVVM::SetMaxRegisterOp) { return WalkResult::interrupt(); });
      if (!block)
        continue;
      // ptxas ignores setmaxnreg with a required block size.
      if (!moves.wasInterrupted()) {
        kernel->removeAttr(most);
        kernel->setAttr(required, block);
      }
      // Give a block that needs them all registers: without a hint ptxas may
      // use half as many and spill.
      kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      Builder(kernel).getI32IntegerAttr(1));
    }
  }
};

} // namespace
