// SPDX-License-Identifier: Apache-2.0
//
// Compiled kernels on disk, found again by what they were made of: PTX and
// cubins (passes/tile-to-nvvm/PtxCache.h) and the host's objects
// (passes/groups-to-host).
//
// A key is BLAKE3 of the kernel's text before any pass (or of whatever else
// says what it computes), act's version and which build of it this is (path,
// size and time of the binary, so that a compiler under work never finds its
// predecessor's code). An entry is one file, KEY.ENDING, in the folder:
//
//     act-kernel 1 <BLAKE3 of the rest>
//     <what was stored>
//
// Files appear whole or not at all. A damaged file counts as missing. A cache
// never fails: what it cannot write it does not keep.
#ifndef ACT_PASSES_KERNELCACHE_KERNELCACHE_H
#define ACT_PASSES_KERNELCACHE_KERNELCACHE_H
#include "mlir/IR/Operation.h"
#include <optional>
#include <string>

namespace act {

/// BLAKE3 of `text` in 64 hexadecimal digits.
std::string digestOf(llvm::StringRef text);

/// All that `op`, which was verified, says but for its locations: equal texts
/// are equal ops, however the tool was told to print what it prints.
std::string textForKey(mlir::Operation *op);

class KernelCache {
public:
  /// A folder; "": $XDG_CACHE_HOME/act or ~/.cache/act; "none": no cache.
  explicit KernelCache(llvm::StringRef folder);

  /// The key of what `source` says in full; empty without a cache.
  std::string key(llvm::StringRef source) const;

  /// What was stored under `key`. `ending` is of the file's name, ".ptx".
  std::optional<std::string> find(const std::string &key,
                                  llvm::StringRef ending) const;
  /// Does nothing for an empty key.
  void store(const std::string &key, llvm::StringRef content,
             llvm::StringRef ending) const;

private:
  std::string file(const std::string &key, llvm::StringRef ending) const;
  std::string folder; // empty: no cache
};

} // namespace act
#endif
