// SPDX-License-Identifier: Apache-2.0
//
// Memory that a step needs on one kind of device only (KernelOperand::Scratch).
// It follows the arena planned for all devices, so plan, report and formulas
// are the same everywhere. A launch's scratch is dead after the next launch of
// its group, so a few regions are reused in turn. The three largest fit side by
// side: queries, keys and values may be one launch.
#ifndef ACT_PASSES_EMIT_SCRATCHRING_H
#define ACT_PASSES_EMIT_SCRATCHRING_H
#include "act/Artifact/Step.h"
#include "passes/kernels/Flatten.h"

namespace act {

class ScratchRing {
public:
  /// For an arena of `arenaBytes`.
  ScratchRing(const Program &program, int64_t arenaBytes);

  /// The arena including scratch.
  uint64_t arenaBytes() const { return begin + size; }
  /// The next launch's scratch; no bytes if it needs none.
  artifact::Operand next(const FlatLaunch &launch);

private:
  uint64_t begin, size = 0, used = 0;
};

} // namespace act
#endif
