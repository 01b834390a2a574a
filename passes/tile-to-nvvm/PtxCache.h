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
// What a whole model is made of has an entry of its own, KEY.txt, and a cubin
// KEY.cubin (Ptxas.h), of the same first line and what its writer chose.
//
// What was compiled with a warning is not kept: the next one is to be warned,
// too.
//
// Files appear whole or not at all. One that is damaged is as one that is not
// there. A cache never fails: what it cannot write it does not keep.
#ifndef ACT_PASSES_TILETONVVM_PTXCACHE_H
#define ACT_PASSES_TILETONVVM_PTXCACHE_H
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include <optional>
#include <string>

namespace act::tile {
struct CompiledKernel;
struct PtxOptions;

/// All that `op`, which was verified, says but for its locations, of which
/// those of assertions are part of the code: equal texts are equal ops, however
/// the tool was told to print what it prints.
std::string textForKey(mlir::Operation *op);

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
  /// The same of a text, or of any bytes.
  std::optional<std::string> findText(const std::string &key,
                                      llvm::StringRef ending = ".txt") const;
  void storeText(const std::string &key, llvm::StringRef text,
                 llvm::StringRef ending = ".txt") const;

private:
  std::string file(const std::string &key, llvm::StringRef ending) const;
  void write(const std::string &file, llvm::StringRef body) const;
  std::string folder; // empty: no cache
};

} // namespace act::tile
#endif
