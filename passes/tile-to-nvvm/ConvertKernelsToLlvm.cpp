// SPDX-License-Identifier: Apache-2.0
//
// Upstream's patterns for all dialects in one conversion: as separate passes,
// each would visit thousands of operations to convert a few.
#include "dialects/tile/Dialect.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMInterface.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/BasicPtxBuilderInterface.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/tile-to-nvvm/Passes.h"

namespace act::tile {
#define GEN_PASS_DEF_CONVERTKERNELSTOLLVMPASS
#include "passes/tile-to-nvvm/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act;

namespace {

struct ConvertKernelsToLlvm
    : act::tile::impl::ConvertKernelsToLlvmPassBase<ConvertKernelsToLlvm> {
  /// Rewrites gpu operations to other gpu operations, which a dialect
  /// conversion does not do.
  LogicalResult takeApart() {
    WalkResult walked = getOperation()->walk([](Operation *op) {
      return isa<gpu::AllReduceOp, gpu::GlobalIdOp, gpu::ShuffleOp>(op)
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (!walked.wasInterrupted())
      return success();
    RewritePatternSet patterns(&getContext());
    populateGpuRewritePatterns(patterns);
    return applyPatternsGreedily(getOperation(), std::move(patterns));
  }

  /// The largest index width among the converted functions: one conversion has
  /// one width, so all must allow 32 bits.
  unsigned mostIndexBits() {
    unsigned most = 32;
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      if (!isa<LLVM::LLVMFuncOp>(function))
        most = std::max(most, act::tile::indexBits(function));
    return most;
  }

  /// Marks 32-bit index arithmetic as non-overflowing, so that LLVM finds
  /// bounds checks that always hold, as it does for 64 bits by itself.
  void setNoOverflow() {
    auto flags = arith::IntegerOverflowFlagsAttr::get(
        &getContext(), arith::IntegerOverflowFlags::nsw);
    getOperation().walk([&](Operation *op) {
      if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op) &&
          op->getResult(0).getType().isIndex())
        op->setAttr("overflowFlags", flags);
    });
  }

  void runOnOperation() override {
    if (failed(takeApart()))
      return signalPassFailure();
    MLIRContext *context = &getContext();
    LowerToLLVMOptions options(context, DataLayout(getOperation()));
    options.overrideIndexBitwidth(mostIndexBits());
    if (options.getIndexBitwidth() == 32)
      setNoOverflow();
    LLVMTypeConverter converter(context, options);
    configureGpuToNVVMTypeConverter(converter);

    RewritePatternSet patterns(context);
    populateSCFToControlFlowConversionPatterns(patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    index::populateIndexToLLVMConversionPatterns(converter, patterns);
    // Before the gpu patterns, which only know libdevice for functions.
    populateMathToLLVMConversionPatterns(converter, patterns,
                                         /*approximateLog1p=*/true,
                                         /*benefit=*/2);
    populateFuncToLLVMConversionPatterns(converter, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
    populateGpuToNVVMConversionPatterns(converter, patterns);
    populateGpuWMMAToNVVMConversionPatterns(converter, patterns);
    populateNVVMToLLVMConversionPatterns(patterns);

    LLVMConversionTarget target(*context);
    // User-written kernels may use others: vector, ub, complex.
    for (Dialect *dialect : context->getLoadedDialects())
      if (auto *known = dyn_cast<ConvertToLLVMPatternInterface>(dialect))
        known->populateConvertToLLVMConversionPatterns(target, converter,
                                                       patterns);
    target.addIllegalDialect<gpu::GPUDialect>();
    target.addLegalOp<gpu::GPUModuleOp>();
    // NVVM ops without an intrinsic become inline PTX.
    target.addDynamicallyLegalDialect<NVVM::NVVMDialect>([](Operation *op) {
      auto ptx = dyn_cast<NVVM::BasicPtxBuilderInterface>(op);
      return !ptx || ptx.hasIntrinsic();
    });
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
