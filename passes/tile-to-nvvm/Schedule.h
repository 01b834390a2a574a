// SPDX-License-Identifier: Apache-2.0
//
// A kernel's launch parameters, as attributes.
//
//   gpu.func @k(...) kernel attributes {
//     tile.schedule = #tile.schedule<warps = 4>,     32 threads per warp
//     known_block_size = array<i32: 128, 1, 1>,      or the block explicitly
//     tile.grid = array<i64: 8, 4, 1>,               if known
//     tile.shared_bytes = 49152 : i64}               dynamic shared memory
#ifndef ACT_PASSES_TILETONVVM_SCHEDULE_H
#define ACT_PASSES_TILETONVVM_SCHEDULE_H
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include <array>

namespace act::tile {

/// Threads of a block. Errors name the attribute.
mlir::FailureOr<std::array<int32_t, 3>> blockSize(mlir::gpu::GPUFuncOp kernel);
/// Blocks, or zeros if the kernel does not say.
std::array<int64_t, 3> gridSize(mlir::gpu::GPUFuncOp kernel);
/// Bytes of dynamic shared memory.
mlir::FailureOr<int64_t> sharedBytes(mlir::gpu::GPUFuncOp kernel);

} // namespace act::tile
#endif
