// SPDX-License-Identifier: Apache-2.0
//
// A disk cache of compiled kernels, keyed by their source: PTX and cubins
// (passes/tile-to-nvvm/PtxCache.h) and the host's objects
// (passes/groups-to-host).
//
// A key is the BLAKE3 hash of the kernel's text before any pass (or of another
// full description), act's version and the identity of this build (path, size
// and time of the binary, so that a compiler in development never finds code of
// an older build). An entry is one file, KEY.ENDING, in the folder:
//
//     act-kernel 1 <BLAKE3 of the rest>
//     <what was stored>
//
// Files are written atomically. A damaged file counts as missing. The cache
// never fails: entries that it cannot write are dropped.
#ifndef ACT_PASSES_KERNELCACHE_KERNELCACHE_H
#define ACT_PASSES_KERNELCACHE_KERNELCACHE_H
#include "mlir/IR/Operation.h"
#include <optional>
#include <string>

namespace act {

/// BLAKE3 of `text` in 64 hexadecimal digits.
std::string digestOf(llvm::StringRef text);

/// The full text of the verified `op` without locations: equal texts mean equal
/// ops, whatever printing options the tool has.
std::string textForKey(mlir::Operation *op);

class KernelCache {
public:
  /// A folder; "": $XDG_CACHE_HOME/act or ~/.cache/act; "none": no cache.
  explicit KernelCache(llvm::StringRef folder);

  /// The key for `source`, a full description; empty without a cache.
  std::string key(llvm::StringRef source) const;

  /// The entry stored under `key`. `ending` is the file's, such as ".ptx".
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
