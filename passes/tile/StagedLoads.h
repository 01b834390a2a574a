// SPDX-License-Identifier: Apache-2.0
//
// Loads whose blocks are copied asynchronously to shared memory and read there
// as operands of dots. The passes decide who copies, and when.
#ifndef ACT_PASSES_TILE_STAGEDLOADS_H
#define ACT_PASSES_TILE_STAGEDLOADS_H

#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace act::tile {

/// A load that feeds operands of dots, and its readers: conversions, also of
/// the transposed block, and other ops, which get the block in the load's own
/// layout. If a conversion is in a loop and the load before it, the block is
/// copied once and read in every iteration: registers are scarcer than shared
/// memory.
///
/// Asynchronous products read the copied block itself (`tile.to_shared`).
struct StagedLoad {
  LoadOp load;
  llvm::SmallVector<ConvertLayoutOp> conversions;
  llvm::SmallVector<ToSharedOp> shared;
};

/// Whether a block is loaded in a way that can be staged.
bool isStaged(mlir::Value block);

/// The kernel's loads that can be staged, by their parent op. A copy moves 16
/// aligned bytes, entirely inside the view or entirely outside; outside reads
/// as zero.
llvm::MapVector<mlir::Operation *, llvm::SmallVector<StagedLoad>>
stagedLoads(mlir::gpu::GPUFuncOp kernel);

/// Whether `within` writes the memory that the load reads; a copy that runs
/// ahead would read the old contents.
bool isWritten(LoadOp load, mlir::Operation *within);

/// Swizzled memory for `slots` blocks of the load, or for rows.
SharedType ringType(LoadOp load, int64_t slots);

/// Starts to copy the load's block at `indices` of `view`, using `warps` warps.
void copyBlock(LoadOp load, mlir::Value view, mlir::ValueRange indices,
               mlir::Value shared, mlir::ValueRange slot, int64_t warps,
               mlir::OpBuilder &b);

/// Replaces the load by reads of shared memory, and erases it.
void readStaged(const StagedLoad &staged, mlir::Value shared,
                mlir::ValueRange slot, mlir::OpBuilder &b);

/// Ops of a loop's body that compute `values` from outer values, its counter
/// and constants, in order. Fails if memory or carried values are needed.
mlir::LogicalResult sliceOf(mlir::scf::ForOp loop, mlir::ValueRange values,
                            llvm::SetVector<mlir::Operation *> &slice);

/// The loads' indices in another iteration, computed at the builder. `map` has
/// what stands there for values from outside of the loop.
std::vector<llvm::SmallVector<mlir::Value>>
indicesAt(mlir::scf::ForOp loop, llvm::ArrayRef<StagedLoad> loads,
          mlir::Value counter, mlir::OpBuilder &b, mlir::IRMapping map = {});

/// Waits for the products of the last iteration that are pending in this one.
/// Whether there are any.
bool awaitCarried(mlir::scf::ForOp loop, mlir::OpBuilder &b);

/// The next slot of a ring, i32.
mlir::Value nextSlot(mlir::Value slot, int64_t slots, mlir::OpBuilder &b,
                     mlir::Location loc);

} // namespace act::tile
#endif
