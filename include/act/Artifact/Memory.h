// SPDX-License-Identifier: Apache-2.0
//
// The memory that a step takes, known before anything of it is allocated.
#ifndef ACT_ARTIFACT_MEMORY_H
#define ACT_ARTIFACT_MEMORY_H
#include "act/Artifact/Step.h"

namespace act::artifact {

/// In bytes. Inputs and outputs are those of the function that has most.
struct StepMemory {
  uint64_t parameters = 0, gradients = 0, optimizer = 0, arena = 0,
           hostArena = 0, scratch = 0, ports = 0;
  uint64_t onDevice() const {
    return parameters + gradients + optimizer + arena + scratch + ports;
  }
  uint64_t total() const { return onDevice() + hostArena; }
  /// "23397552128 bytes: parameters 4943257600, gradients ..., ...", without
  /// what is zero.
  std::string text() const;
};

/// Of a validated step. `threads` of the host have scratch each; 0 on devices
/// that have none.
StepMemory memoryOf(const Step &step, uint64_t threads);

} // namespace act::artifact
#endif
