// SPDX-License-Identifier: Apache-2.0
//
// Compiled kernels on disk, found again by what they were made of.
//
// The key is BLAKE3 of the kernel's text before any pass (or of whatever else
// says what it computes), the options, act's version and which build of it this
// is (path, size and time of the binary, so that a compiler under work never
// finds its predecessor's code). An entry is one file, KEY.ptx, in the folder:
//
//     act-ptx 4 <BLAKE3 of the rest>
//     block 128 1 1 grid 0 0 0 shared 49152 bytes -1
//     {"stages":2,"warps":4}
//     <PTX>
//
// Files appear whole or not at all. One that is damaged is as one that is not
// there. A cache never fails: what it cannot write it does not keep.
#ifndef ACT_PASSES_TILETONVVM_PTXCACHE_H
#define ACT_PASSES_TILETONVVM_PTXCACHE_H
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include <string>

namespace act::tile {
struct CompiledKernel;
struct PtxOptions;

class PtxCache {
public:
  /// A folder; "": $XDG_CACHE_HOME/act or ~/.cache/act; "none": no cache.
  explicit PtxCache(llvm::StringRef folder);

  /// Empty without a cache.
  std::string key(mlir::gpu::GPUModuleOp module,
                  const PtxOptions &options) const;
  std::string key(llvm::StringRef source, const PtxOptions &options) const;
  /// Fills in the PTX, the launch and the schedule.
  bool find(const std::string &key, CompiledKernel &kernel) const;
  void store(const std::string &key, const CompiledKernel &kernel) const;
  llvm::StringRef path() const { return folder; }

private:
  std::string file(const std::string &key) const;
  std::string folder; // empty: no cache
};

} // namespace act::tile
#endif
