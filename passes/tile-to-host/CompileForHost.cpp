// SPDX-License-Identifier: Apache-2.0
//
// From a kernel on blocks to a shared object, by the back end of
// groups-to-host. Only the passes that place buffers, expand functions and
// convert to LLVM are shared with it.
#include "passes/tile-to-host/CompileForHost.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/groups-to-host/EmitSharedObject.h"
#include "passes/groups-to-host/HostKernels.h"
#include "passes/groups-to-host/Passes.h"
#include "passes/tile-to-host/Passes.h"
#include "passes/tile/Pipeline.h"

using namespace mlir;
using namespace act;

static LogicalResult run(ModuleOp module,
                         llvm::function_ref<void(OpPassManager &)> build) {
  PassManager pm(module.getContext());
  (void)applyPassManagerCLOptions(pm); // fails if not registered
  build(pm);
  return pm.run(module);
}

// In two steps, because the texts of checks are read from the function before
// it is lowered to LLVM.
FailureOr<tile::HostKernel> tile::compileForHost(gpu::GPUFuncOp kernel) {
  Location loc = kernel.getLoc();
  // bf16 rounding instructions flush denormals to zero, even in plain copies.
  auto target = describeTarget("", "-avx512bf16,-avxneconvert", loc);
  if (failed(target))
    return failure();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  auto b = OpBuilder::atBlockEnd(module->getBody());
  auto inner = gpu::GPUModuleOp::create(b, loc, "kernels");
  b.setInsertionPointToStart(inner.getBody());
  b.clone(*kernel);

  HostKernel made;
  if (failed(run(*module, [](OpPassManager &pm) {
        // As for a GPU: both accept the same kernels.
        tile::buildCheckedKernelPipeline(pm.nest<gpu::GPUModuleOp>());
        pm.addPass(createConvertTileToHostPass());
      })))
    return failure();
  auto function = cast<func::FuncOp>(module->lookupSymbol(kernel.getName()));
  for (Attribute text : function->getAttrOfType<ArrayAttr>(kChecksAttr))
    made.checks.push_back(cast<StringAttr>(text).str());
  if (failed(run(*module, [](OpPassManager &pm) {
        pm.addPass(createCanonicalizerPass());
        pm.addPass(createCSEPass());
        // Before sizes become arithmetic.
        pm.addPass(createPlaceHostBuffersPass());
        // 16-bit functions are computed in f32 and rounded.
        pm.addPass(math::createMathExtendToSupportedTypes(
            {/*extraTypeStrs=*/{}, /*targetTypeStr=*/"f32"}));
        pm.addPass(createExpandHostMathPass());
        pm.addPass(createCanonicalizerPass());
        buildHostToLLVMPipeline(pm);
        // Two parameters may be the same array.
        WrapHostKernelPassOptions options;
        options.mayAlias = true;
        pm.addPass(createWrapHostKernelPass(options));
      })))
    return failure();
  for (auto outer : module->getOps<LLVM::LLVMFuncOp>())
    if (auto scratch = outer->getAttrOfType<IntegerAttr>(kScratchAttr))
      made.scratchBytes = uint64_t(scratch.getInt());
  auto object = emitObject(*module, *target);
  if (failed(object))
    return failure();
  // LLVM also turns fprintf into the others.
  auto linked = linkObjects({std::move(*object)}, loc,
                            {"fprintf", "fwrite", "fputc", "fputs"});
  if (failed(linked))
    return failure();
  made.sharedObject = std::move(*linked);
  return made;
}
