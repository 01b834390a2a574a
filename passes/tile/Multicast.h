// SPDX-License-Identifier: Apache-2.0
//
// What the programs of a cluster have in common.
#ifndef ACT_PASSES_TILE_MULTICAST_H
#define ACT_PASSES_TILE_MULTICAST_H
#include "passes/tile/StagedLoads.h"

namespace act::tile {

/// For each of a loop's loads by tensor maps, whether the programs of a cluster
/// read the same block in the same iteration, and can copy it together. That is
/// a matter of positions: the programs have numbers next to each other, and
/// those of a product that differ only in their row read the same columns. All
/// programs must go through the loop, and through those around it, as often.
///
/// Nothing is shared in kernels whose programs wait for each other's turns: a
/// program would also wait for its cluster, in no order with the turns.
llvm::SmallVector<bool> multicastLoads(mlir::scf::ForOp loop,
                                       llvm::ArrayRef<StagedLoad> loads);

/// Makes each program of the kernel be on its own: its cluster has no block in
/// common. Says so where that was not to be expected.
void dropCluster(mlir::gpu::GPUFuncOp kernel, bool hasClusters);

} // namespace act::tile
#endif
