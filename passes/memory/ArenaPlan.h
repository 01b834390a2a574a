// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_MEMORY_ARENAPLAN_H
#define ACT_PASSES_MEMORY_ARENAPLAN_H
#include "passes/kernels/Flatten.h"

namespace act {

/// Where a program's buffers lie in the device arena and in the host arena.
struct ArenaPlan {
  int64_t arenaBytes = 0, lowerBoundBytes = 0;
  int64_t hostArenaBytes = 0;
  /// By buffer, including nested and in-place ones; -1 for a buffer in neither
  /// arena.
  std::vector<int64_t> offsets;
};

/// Plans the root buffers of `program`; the result has passed the validator.
mlir::FailureOr<ArenaPlan> planArena(const Program &program,
                                     mlir::Location loc);

} // namespace act
#endif
