// SPDX-License-Identifier: Apache-2.0
//
// Caches kernels as PTX (KernelCache.h), keyed by their text and the options.
// An entry, KEY.ptx, contains
//
//     block 128 1 1 grid 0 0 0 shared 49152 bytes -1
//     {"stages":2,"warps":4}
//     <PTX>
//
// A whole model's list of kernels has an entry of its own, KEY.txt, and a cubin
// KEY.cubin (Ptxas.h).
//
// Kernels compiled with a warning are not kept, so that the next run warns
// again.
#ifndef ACT_PASSES_TILETONVVM_PTXCACHE_H
#define ACT_PASSES_TILETONVVM_PTXCACHE_H
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/kernel-cache/KernelCache.h"
#include <optional>
#include <string>

namespace act::tile {
struct CompiledKernel;
struct PtxOptions;

class PtxCache {
public:
  /// `folder` as in KernelCache.
  explicit PtxCache(llvm::StringRef folder) : cache(folder) {}

  /// Empty without a cache.
  std::string key(mlir::gpu::GPUModuleOp module,
                  const PtxOptions &options) const;
  std::string key(llvm::StringRef source, const PtxOptions &options) const;
  /// Fills in the PTX, the launch and the schedule.
  bool find(const std::string &key, CompiledKernel &kernel) const;
  void store(const std::string &key, const CompiledKernel &kernel) const;
  /// The same for a text, or any bytes.
  std::optional<std::string> findText(const std::string &key,
                                      llvm::StringRef ending = ".txt") const {
    return cache.find(key, ending);
  }
  void storeText(const std::string &key, llvm::StringRef text,
                 llvm::StringRef ending = ".txt") const {
    cache.store(key, text, ending);
  }

private:
  KernelCache cache;
};

} // namespace act::tile
#endif
