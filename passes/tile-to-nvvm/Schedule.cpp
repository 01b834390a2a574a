// SPDX-License-Identifier: Apache-2.0
#include "passes/tile-to-nvvm/Schedule.h"

using namespace mlir;
using namespace act;

/// Warps of `tile.schedule`; 0 when there is none.
static FailureOr<int64_t> scheduledWarps(gpu::GPUFuncOp kernel) {
  Attribute schedule = kernel->getAttr("tile.schedule");
  if (!schedule)
    return 0;
  auto words = dyn_cast<DictionaryAttr>(schedule);
  auto warps = words ? words.getAs<IntegerAttr>("warps") : IntegerAttr();
  if (!warps)
    return kernel.emitOpError("has tile.schedule = ")
           << schedule << ", expected warps in it";
  return warps.getInt();
}

FailureOr<std::array<int32_t, 3>> tile::blockSize(gpu::GPUFuncOp kernel) {
  auto warps = scheduledWarps(kernel);
  if (failed(warps))
    return failure();
  std::array<int32_t, 3> block = {32, 1, 1};
  if (auto known = kernel.getKnownBlockSize()) {
    if (known->size() != 3)
      return kernel.emitOpError("has ")
             << known->size() << " numbers in known_block_size, expected 3";
    std::copy(known->begin(), known->end(), block.begin());
  } else if (*warps) {
    if (*warps < 1 || *warps > 32)
      return kernel.emitOpError("has tile.schedule with ")
             << *warps << " warps, expected 1 to 32";
    block[0] = int32_t(*warps) * 32;
  } else {
    return kernel.emitOpError(
        "does not say its block size: expected known_block_size = array<i32: "
        "X, Y, Z> or tile.schedule");
  }
  int64_t threads = 1;
  for (int32_t n : block)
    threads = n < 1 || n > 1024 ? 1025 : threads * n;
  if (threads > 1024)
    return kernel.emitOpError("has blocks of ")
           << block[0] << "x" << block[1] << "x" << block[2]
           << " threads, expected at most 1024";
  if (*warps && threads != *warps * 32)
    return kernel.emitOpError("has known_block_size of ")
           << threads << " threads and tile.schedule of " << *warps
           << " warps, expected 32 threads a warp";
  return block;
}

FailureOr<std::array<int64_t, 3>> tile::gridSize(gpu::GPUFuncOp kernel) {
  std::array<int64_t, 3> grid = {0, 0, 0};
  Attribute given = kernel->getAttr("tile.grid");
  if (!given)
    return grid;
  auto sizes = dyn_cast<DenseI64ArrayAttr>(given);
  if (!sizes || sizes.size() != 3)
    return kernel.emitOpError("has tile.grid = ")
           << given << ", expected array<i64: X, Y, Z>";
  for (auto [i, n] : llvm::enumerate(sizes.asArrayRef())) {
    if (n < 1 || n > (i == 0 ? INT32_MAX : 65535))
      return kernel.emitOpError("has ")
             << n << " blocks along " << "xyz"[i] << ", expected 1 to "
             << (i == 0 ? INT32_MAX : 65535);
    grid[i] = n;
  }
  return grid;
}

FailureOr<int64_t> tile::sharedBytes(gpu::GPUFuncOp kernel) {
  Attribute given = kernel->getAttr("tile.shared_bytes");
  if (!given)
    return 0;
  auto bytes = dyn_cast<IntegerAttr>(given);
  if (!bytes || bytes.getInt() < 0)
    return kernel.emitOpError("has tile.shared_bytes = ")
           << given << ", expected a number of bytes";
  return bytes.getInt();
}
