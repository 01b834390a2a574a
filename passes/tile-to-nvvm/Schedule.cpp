// SPDX-License-Identifier: Apache-2.0
//
// What a kernel's attributes say about its launch. Kernels may be written by
// hand at any stage, so they are checked wherever they are read.
#include "passes/tile-to-nvvm/Schedule.h"
#include "dialects/tile/Dialect.h"

using namespace mlir;
using namespace act;

FailureOr<std::array<int32_t, 3>> tile::blockSize(gpu::GPUFuncOp kernel) {
  // Use the default without creating an attribute: without one, the dialect may
  // not be loaded.
  auto schedule = kernel->getAttrOfType<ScheduleAttr>(scheduleName);
  int32_t scheduled = schedule ? int32_t(schedule.getThreads()) : 128;
  std::array<int32_t, 3> block = {scheduled, 1, 1};
  if (auto known = kernel.getKnownBlockSize()) {
    if (known->size() != 3)
      return kernel.emitOpError("has ")
             << known->size() << " numbers in known_block_size, expected 3";
    std::copy(known->begin(), known->end(), block.begin());
  }
  int64_t threads = 1;
  for (int32_t n : block)
    threads = n < 1 || n > 1024 ? 1025 : threads * n;
  if (threads > 1024)
    return kernel.emitOpError("has blocks of ")
           << block[0] << "x" << block[1] << "x" << block[2]
           << " threads, expected at most 1024";
  if (schedule && threads != scheduled)
    return kernel.emitOpError("has known_block_size of ")
           << threads << " threads and tile.schedule of " << scheduled / 32
           << " warps, expected 32 threads a warp";
  return block;
}

std::array<int64_t, 3> tile::gridSize(gpu::GPUFuncOp kernel) {
  std::array<int64_t, 3> grid = {0, 0, 0};
  llvm::copy(getGrid(kernel), grid.begin());
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
