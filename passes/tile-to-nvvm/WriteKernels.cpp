// SPDX-License-Identifier: Apache-2.0
#include "passes/tile-to-nvvm/WriteKernels.h"
#include "act/File/AtomicFile.h"
#include "act/File/MappedFile.h"
#include "passes/tile-to-nvvm/KernelIndex.h"
#include "passes/tile-to-nvvm/Ptxas.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace act;
using namespace act::tile;

LogicalResult tile::writeKernels(StringRef dir,
                                 MutableArrayRef<CompiledKernel> kernels,
                                 StringRef assembleFor, const PtxCache &cache,
                                 Location loc) {
  // Assemble first: that may change the PTX, and nothing is written if it
  // fails.
  std::vector<Cubin> cubins;
  if (!assembleFor.empty())
    for (CompiledKernel &k : kernels) {
      gpu::GPUFuncOp source = k.source;
      auto assembled = assembleWithFewSpills(
          k.ptx, assembleFor, source ? source.getLoc() : loc, cache);
      if (failed(assembled))
        return failure();
      cubins.push_back(std::move(*assembled));
    }
  if (std::error_code code = llvm::sys::fs::create_directories(dir))
    return emitError(loc) << "cannot make the folder '" << dir
                          << "': " << code.message();
  // There are dozens of files, mostly unchanged: skip equal ones, and leave
  // flushing to the caller.
  auto write = [&](const std::string &name, StringRef bytes) -> LogicalResult {
    std::string path = (dir + "/" + name).str();
    if (auto old = file::MappedFile::open(path);
        old && old->text() == std::string_view(bytes))
      return success();
    auto written = file::writeFile(path, bytes, file::Survives::ProcessEnd);
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
  return write("index.json", kernelIndex(kernels, cubins));
}
