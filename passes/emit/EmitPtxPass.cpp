// SPDX-License-Identifier: Apache-2.0
//
// --emit-ptx for both kinds of modules: kernels that are written in blocks or
// in threads, and models, whose kernels are made first.
#include "passes/emit/EmitStep.h"
#include "passes/emit/GpuKernels.h"
#include "passes/emit/Passes.h"
#include "passes/module/Entries.h"
#include "passes/tile-to-nvvm/WriteKernels.h"
#include "passes/tile/KnownTarget.h"

namespace act {
#define GEN_PASS_DEF_EMITPTXPASS
#include "passes/emit/Passes.h.inc"
} // namespace act

using namespace mlir;
using namespace act;

namespace {

bool hasGpuKernels(ModuleOp module) {
  return module
      .walk([](gpu::GPUFuncOp function) {
        return function.isKernel() ? WalkResult::interrupt()
                                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether the module holds a model, at any stage.
bool hasModel(ModuleOp module) {
  return !module.getOps<ParameterOp>().empty() ||
         module.lookupSymbol(forwardName) || module.lookupSymbol(stepName);
}

struct EmitPtx : act::impl::EmitPtxPassBase<EmitPtx> {
  using EmitPtxPassBase::EmitPtxPassBase;
  explicit EmitPtx(std::vector<NamedBytes> *out) : out(out) {}

  void getDependentDialects(DialectRegistry &registry) const override {
    registerGpuKernelDialects(registry);
  }

  FailureOr<std::vector<tile::CompiledKernel>> compile(ModuleOp module) {
    if (hasGpuKernels(module) || !hasModel(module)) {
      if (!f32Products.empty())
        return emitError(module.getLoc(),
                         "f32-products applies to a model's products; a "
                         "tile.dot has its own: precision = tf32");
      tile::PtxOptions options;
      options.chip = target;
      auto kernels =
          tile::compileKernels(module, options, tile::PtxCache(cacheDir));
      if (succeeded(kernels) &&
          failed(tile::checkSharedMemory(*kernels, target)))
        return failure();
      return kernels;
    }
    EmitOptions options;
    options.mode = mode;
    options.target = target;
    options.cacheDir = cacheDir;
    options.f32Products = f32Products;
    options.joinLaunches = joinLaunches;
    options.schedules = schedules;
    options.drawSchedules = drawSchedules;
    return compileKernelsOf(module, options);
  }

  LogicalResult run() {
    ModuleOp module = getOperation();
    if (dir.empty() && !out)
      return emitError(module.getLoc(),
                       "emit-ptx needs a folder to write to: --emit-ptx=DIR");
    if (failed(tile::knownTarget(target, module.getContext())))
      return failure();
    auto kernels = compile(module);
    if (failed(kernels))
      return failure();
    auto files = tile::filesOf(*kernels, cubin ? StringRef(target) : "",
                               tile::PtxCache(cacheDir), module.getLoc());
    if (failed(files))
      return failure();
    if (!out)
      return tile::writeKernels(dir, *files, module.getLoc());
    *out = std::move(*files);
    return success();
  }

  void runOnOperation() override {
    if (failed(run()))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }

  std::vector<NamedBytes> *out = nullptr; ///< in place of a folder
};

} // namespace

std::unique_ptr<Pass> act::createEmitPtxPass(std::vector<NamedBytes> *out) {
  return std::make_unique<EmitPtx>(out);
}
