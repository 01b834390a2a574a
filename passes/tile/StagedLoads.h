// SPDX-License-Identifier: Apache-2.0
//
// Loads whose blocks go to shared memory by asynchronous copies, and are read
// there as operands of dots. Who copies, and when, is up to the pass.
#ifndef ACT_PASSES_TILE_STAGEDLOADS_H
#define ACT_PASSES_TILE_STAGEDLOADS_H

#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

namespace act::tile {

/// A load that operands of dots are made of, and what reads it: conversions,
/// also of the transposed block, and other ops, which get it in the load's own
/// layout. Where a conversion is in a loop and the load in front of it, the
/// block is copied once and read in every iteration: registers are scarcer than
/// shared memory.
struct StagedLoad {
  LoadOp load;
  llvm::SmallVector<ConvertLayoutOp> conversions;
};

/// The kernel's loads that can be staged, by the op that they are in. A copy
/// moves 16 bytes, aligned, inside of the view or outside of it whole; what is
/// outside is zero.
llvm::MapVector<mlir::Operation *, llvm::SmallVector<StagedLoad>>
stagedLoads(mlir::gpu::GPUFuncOp kernel);

/// Whether `within` writes the memory that the load reads; a copy that runs
/// ahead would read what was there before.
bool isWritten(LoadOp load, mlir::Operation *within);

/// Swizzled memory for `slots` blocks of the load.
SharedType ringType(LoadOp load, int64_t slots);

/// Starts to copy the load's block at `indices`, by that many warps.
void copyBlock(LoadOp load, mlir::ValueRange indices, mlir::Value shared,
               mlir::ValueRange slot, int64_t warps, mlir::OpBuilder &b);

/// Lets everyone read the block from shared memory; the load is gone.
void readStaged(const StagedLoad &staged, mlir::Value shared,
                mlir::ValueRange slot, mlir::OpBuilder &b);

/// Ops of a loop's body that make `values` from what is outside, its counter
/// and constants, in order; fails where memory or carried values are among
/// them.
mlir::LogicalResult sliceOf(mlir::scf::ForOp loop, mlir::ValueRange values,
                            llvm::SetVector<mlir::Operation *> &slice);

/// The loads' indices in another iteration, computed at the builder's place.
std::vector<llvm::SmallVector<mlir::Value>>
indicesAt(mlir::scf::ForOp loop, llvm::ArrayRef<StagedLoad> loads,
          mlir::Value counter, mlir::OpBuilder &b);

/// The slot after this one, i32: counts up and begins again.
mlir::Value nextSlot(mlir::Value slot, int64_t slots, mlir::OpBuilder &b,
                     mlir::Location loc);

} // namespace act::tile
#endif
