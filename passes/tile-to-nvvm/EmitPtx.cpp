// SPDX-License-Identifier: Apache-2.0
//
// The pipeline from thread code to the llvm dialect. Only the order of passes
// is decided here; TranslatePtx.cpp makes the text.
#include "passes/tile-to-nvvm/EmitPtx.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"
#include "passes/tile-to-nvvm/Passes.h"
#include "passes/tile/KnownTarget.h"

using namespace mlir;
using namespace act;

void tile::buildGpuToLLVMPipeline(OpPassManager &pm, const PtxOptions &o) {
  PrepareGpuKernelsPassOptions prepare;
  prepare.registers = o.registers;
  pm.addPass(createPrepareGpuKernelsPass(prepare));
  // Before loops become branches, so that invariants made by the expansion can
  // be hoisted.
  pm.addPass(createExpandGpuMathPass());
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(createConvertKernelsToLlvmPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createFinishGpuKernelsPass());
  CheckPtxTargetPassOptions check;
  check.target = o.chip;
  pm.addPass(createCheckPtxTargetPass(check));
}

namespace {
struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("sm_80, sm_86, sm_89 or sm_90a"),
                             llvm::cl::init("sm_80")};
  Option<unsigned> registers{
      *this, "registers",
      llvm::cl::desc("the most registers that a thread may have; 0: no cap"),
      llvm::cl::init(0)};
};
} // namespace

void tile::registerPtxPipeline() {
  PassPipelineRegistration<PipelineOptions>(
      "lower-gpu-to-llvm",
      "lowers kernels in upstream's dialects to llvm and nvvm",
      [](OpPassManager &pm, const PipelineOptions &given) {
        PtxOptions options;
        options.chip = given.target;
        options.registers = given.registers;
        buildGpuToLLVMPipeline(pm.nest<gpu::GPUModuleOp>(), options);
      });
}

FailureOr<std::string> tile::emitPtx(gpu::GPUModuleOp module,
                                     const PtxOptions &options) {
  if (failed(knownTarget(options.chip, module.getContext())))
    return failure();
  OwningOpRef<gpu::GPUModuleOp> copy(module.clone());
  PassManager pm(module.getContext(), gpu::GPUModuleOp::getOperationName());
  (void)applyPassManagerCLOptions(pm); // fails if not registered
  buildGpuToLLVMPipeline(pm, options);
  if (failed(pm.run(*copy)))
    return failure();
  return translateToPtx(*copy, options);
}

void tile::registerPtxDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect, gpu::GPUDialect,
                  index::IndexDialect, LLVM::LLVMDialect, math::MathDialect,
                  NVVM::NVVMDialect, scf::SCFDialect>();
  registerConvertNVVMToLLVMInterface(registry);
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

Operation *tile::dynamicSharedMemory(gpu::GPUModuleOp module) {
  if (Operation *known = SymbolTable::lookupSymbolIn(module, dynamicSharedName))
    return known;
  auto b = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), 0);
  // 1024: the period of a 128-byte swizzle.
  return LLVM::GlobalOp::create(b, module.getLoc(), type, /*isConstant=*/false,
                                LLVM::Linkage::External, dynamicSharedName,
                                Attribute(), /*alignment=*/1024,
                                /*addrSpace=*/3);
}
