// SPDX-License-Identifier: Apache-2.0
//
// The memory that a step takes, computed before anything is allocated.
#ifndef ACT_ARTIFACT_MEMORY_H
#define ACT_ARTIFACT_MEMORY_H
#include "act/Artifact/Step.h"

namespace act::artifact {

/// In bytes. `ports` are the inputs and outputs of the function with the most
/// bytes of them.
struct StepMemory {
  uint64_t parameters = 0, gradients = 0, optimizer = 0, arena = 0,
           hostArena = 0, scratch = 0, ports = 0;
  uint64_t onDevice() const {
    return parameters + gradients + optimizer + arena + scratch + ports;
  }
  uint64_t total() const { return onDevice() + hostArena; }
  /// "23397552128 bytes: parameters 4943257600, gradients ..., ..."; parts that
  /// are zero are left out.
  std::string text() const;
};

/// For a validated step. Each of `threads` host threads has scratch; 0 for
/// devices without host threads.
StepMemory memoryOf(const Step &step, uint64_t threads);

} // namespace act::artifact
#endif
