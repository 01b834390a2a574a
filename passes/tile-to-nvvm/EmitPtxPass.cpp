// SPDX-License-Identifier: Apache-2.0
#include "act/File/AtomicFile.h"
#include "passes/tile-to-nvvm/CompileKernels.h"
#include "passes/tile-to-nvvm/KernelIndex.h"
#include "passes/tile-to-nvvm/Passes.h"
#include "passes/tile-to-nvvm/Ptxas.h"
#include "llvm/Support/FileSystem.h"

namespace act::tile {
#define GEN_PASS_DEF_EMITPTXPASS
#include "passes/tile-to-nvvm/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act;

namespace {

struct EmitPtx : act::tile::impl::EmitPtxPassBase<EmitPtx> {
  using EmitPtxPassBase::EmitPtxPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    tile::registerPtxDialects(registry);
  }

  LogicalResult write(const std::string &name, StringRef bytes) {
    auto written =
        file::writeFile(dir + "/" + name, bytes.data(), bytes.size());
    if (written)
      return success();
    return getOperation().emitError() << written.error().str();
  }

  LogicalResult run() {
    if (dir.empty())
      return getOperation().emitError(
          "emit-ptx needs a folder to write to: --emit-ptx=DIR");
    tile::PtxOptions options;
    options.chip = target;
    auto kernels =
        tile::compileKernels(getOperation(), options, tile::PtxCache(cacheDir));
    if (failed(kernels))
      return failure();
    // Everything that can fail on account of the kernels has, before anything
    // is written.
    std::vector<tile::Cubin> cubins;
    if (cubin)
      for (tile::CompiledKernel &k : *kernels) {
        auto assembled = tile::assemble(k.ptx, options.chip, k.source.getLoc());
        if (failed(assembled))
          return failure();
        cubins.push_back(std::move(*assembled));
      }
    if (std::error_code code = llvm::sys::fs::create_directories(dir))
      return getOperation().emitError("cannot make the folder '")
             << dir << "': " << code.message();
    for (auto [i, k] : llvm::enumerate(*kernels)) {
      if (failed(write(k.name + ".ptx", k.ptx)))
        return failure();
      if (cubin && failed(write(k.name + ".cubin", {cubins[i].bytes.data(),
                                                    cubins[i].bytes.size()})))
        return failure();
    }
    // Last: who reads the index finds its files.
    return write("index.json", tile::kernelIndex(*kernels));
  }

  void runOnOperation() override {
    if (failed(run()))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
