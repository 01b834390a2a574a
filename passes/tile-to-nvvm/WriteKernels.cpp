// SPDX-License-Identifier: Apache-2.0
#include "passes/tile-to-nvvm/WriteKernels.h"
#include "act/File/AtomicFile.h"
#include "passes/tile-to-nvvm/KernelIndex.h"
#include "passes/tile-to-nvvm/Ptxas.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace act;
using namespace act::tile;

LogicalResult tile::writeKernels(StringRef dir,
                                 ArrayRef<CompiledKernel> kernels,
                                 StringRef assembleFor, Location loc) {
  std::vector<Cubin> cubins;
  if (!assembleFor.empty())
    for (const CompiledKernel &k : kernels) {
      gpu::GPUFuncOp source = k.source;
      auto assembled =
          assemble(k.ptx, assembleFor, source ? source.getLoc() : loc);
      if (failed(assembled))
        return failure();
      cubins.push_back(std::move(*assembled));
    }
  if (std::error_code code = llvm::sys::fs::create_directories(dir))
    return emitError(loc) << "cannot make the folder '" << dir
                          << "': " << code.message();
  auto write = [&](const std::string &name, StringRef bytes) -> LogicalResult {
    auto written =
        file::writeFile((dir + "/" + name).str(), bytes.data(), bytes.size());
    if (written)
      return success();
    return emitError(loc) << written.error().str();
  };
  for (auto [i, k] : llvm::enumerate(kernels)) {
    if (failed(write(k.name + ".ptx", k.ptx)))
      return failure();
    if (!cubins.empty() &&
        failed(write(k.name + ".cubin",
                     {cubins[i].bytes.data(), cubins[i].bytes.size()})))
      return failure();
  }
  return write("index.json", kernelIndex(kernels));
}
