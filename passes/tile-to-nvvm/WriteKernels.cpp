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

FailureOr<std::vector<NamedBytes>>
tile::filesOf(MutableArrayRef<CompiledKernel> kernels, StringRef assembleFor,
              const PtxCache &cache, Location loc) {
  // Assemble first: that may change the PTX.
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
  std::vector<NamedBytes> files;
  for (auto [i, k] : llvm::enumerate(kernels)) {
    files.push_back({k.name + ".ptx", k.ptx});
    if (!cubins.empty())
      files.push_back({k.name + ".cubin",
                       {cubins[i].bytes.data(), cubins[i].bytes.size()}});
  }
  files.push_back({"index.json", kernelIndex(kernels, cubins)});
  return files;
}

LogicalResult tile::writeKernels(StringRef dir, ArrayRef<NamedBytes> files,
                                 Location loc) {
  if (std::error_code code = llvm::sys::fs::create_directories(dir))
    return emitError(loc) << "cannot make the folder '" << dir
                          << "': " << code.message();
  // There are dozens of files, mostly unchanged: skip equal ones, and leave
  // flushing to the caller.
  for (auto &[name, bytes] : files) {
    std::string path = (dir + "/" + name).str();
    if (auto old = file::MappedFile::open(path);
        old && old->text() == std::string_view(bytes))
      continue;
    auto written = file::writeFile(path, bytes, file::Survives::ProcessEnd);
    if (!written)
      return emitError(loc) << written.error().str();
  }
  return success();
}
