// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_TILETONVVM_COMPILEDKERNEL_H
#define ACT_PASSES_TILETONVVM_COMPILEDKERNEL_H
#include "act/Artifact/Step.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/JSON.h"
#include <array>
#include <cstdint>
#include <string>

namespace act::tile {

struct CompiledKernel {
  std::string name; ///< the entry in the PTX
  std::string ptx;  ///< one kernel and all its dependences
  std::array<int64_t, 3> grid = {0, 0, 0};  ///< zeros: chosen at launch
  std::array<int32_t, 3> block = {1, 1, 1}; ///< threads
  int64_t sharedBytes = 0;                  ///< dynamic, requested at launch
  /// Bytes moved by the blocks of all programs (BlockBytes.h); -1: unknown.
  int64_t blockBytes = -1;
  /// Programs that wait for each other, which a device must run at once.
  int64_t atOnce = 0;
  /// Parameters behind those of the source.
  std::vector<artifact::TensorMap> tensorMaps;
  mlir::gpu::GPUFuncOp source; ///< in the original module
  llvm::json::Object about;    ///< for the index: KernelIndex.h
  std::string key;             ///< its key in the cache; empty: none

  /// Whether a launch may have fewer programs than the grid.
  bool isPersistent() const {
    const llvm::json::Object *schedule = about.getObject("schedule");
    return schedule && schedule->getBoolean("persistent").value_or(false);
  }
};

} // namespace act::tile
#endif
