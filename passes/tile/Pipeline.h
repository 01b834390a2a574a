// SPDX-License-Identifier: Apache-2.0
//
// The passes that lower kernels on blocks to kernels of threads: the only place
// that orders them.
//
//     gpu.func on tensors and tile ops
//         ▼
//     the same gpu.func in arith, math, scf, llvm and nvvm, with the attributes
//     `tile.shared_bytes` (of dynamic shared memory) and `known_block_size`
//
// A kernel that has no tile ops passes through unchanged.
#ifndef ACT_PASSES_TILE_PIPELINE_H
#define ACT_PASSES_TILE_PIPELINE_H
#include "mlir/Pass/PassManager.h"
#include <string>

namespace act::tile {

struct TileOptions {
  std::string chip = "sm_80"; ///< sm_80, sm_86, sm_89 or sm_90a
};

/// The first passes on every target: reduce control flow to a few ops, remove
/// names, reject what no device supports.
void buildCheckedKernelPipeline(mlir::OpPassManager &pm);

/// Adds the passes to a pass manager of gpu.module.
void buildTilePipeline(mlir::OpPassManager &pm, const TileOptions &options);

} // namespace act::tile
#endif
