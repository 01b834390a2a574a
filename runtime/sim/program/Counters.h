// SPDX-License-Identifier: Apache-2.0
//
// Counts of what the hardware would execute, summed over all warps of a launch.
// Each cluster keeps its own; the grid adds them up, so counting needs no lock.
#ifndef ACT_RUNTIME_SIM_PROGRAM_COUNTERS_H
#define ACT_RUNTIME_SIM_PROGRAM_COUNTERS_H
#include <cstdint>

namespace act::runtime::sim {

/// The class of an instruction, for counting.
enum class Class : uint8_t {
  Integer,
  Float,
  Half,
  Double,
  Conversion,
  Special /* ex2, rcp ... */,
  Move,
  Compare,
  Logic,
  Control,
  Barrier,
  Shuffle,
  Load,
  Store,
  Atomic,
  AsyncCopy,
  Matrix,
  MatrixLoad,
  Other,
  Count,
};
const char *nameOf(Class kind);

/// Kinds of tensor-core arithmetic.
enum class Tensor : uint8_t { F16, BF16, TF32, F64, I8, FP8, Count };
const char *nameOf(Tensor kind);

struct Counters {
  uint64_t warpInstructions[unsigned(Class::Count)] = {};
  uint64_t laneInstructions = 0; // active lanes, all classes
  uint64_t tensorFlops[unsigned(Tensor::Count)] = {};
  uint64_t globalLoadBytes = 0, globalStoreBytes = 0;     // as requested
  uint64_t globalLoadSectors = 0, globalStoreSectors = 0; // 32 bytes each
  uint64_t sharedLoadWavefronts = 0, sharedStoreWavefronts = 0;
  uint64_t sharedConflicts = 0; // wavefronts beyond the minimum
  /// Bytes of shared memory moved by asynchronous operations: read as operands
  /// of wgmma (B once for the four warps), read and written by bulk copies
  /// (writes once for each target CTA).
  uint64_t wgmmaSharedBytes = 0;
  uint64_t bulkSharedLoadBytes = 0, bulkSharedStoreBytes = 0;
  uint64_t exp2 = 0;         // lanes of ex2
  uint64_t barrierWaits = 0; // warps that had to wait at a barrier
  uint64_t asyncBytes = 0;   // moved by cp.async and bulk copies
  uint64_t ctas = 0, warps = 0;
  void add(const Counters &other);
  uint64_t totalWarpInstructions() const;
};

} // namespace act::runtime::sim
#endif
