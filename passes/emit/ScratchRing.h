// SPDX-License-Identifier: Apache-2.0
//
// Memory that a step needs on one kind of device only (KernelOperand::Scratch),
// behind the arena that is planned for all: so a plan, its report and its
// formulas are the same for every device. What a launch leaves there is read by
// the next launch of its group at the latest, so a few regions serve in turn:
// the three largest have room beside each other, that queries, keys and values
// may be one launch.
#ifndef ACT_PASSES_EMIT_SCRATCHRING_H
#define ACT_PASSES_EMIT_SCRATCHRING_H
#include "act/Artifact/Step.h"
#include "passes/act/Flatten.h"

namespace act {

class ScratchRing {
public:
  /// Of an arena of `arenaBytes`.
  ScratchRing(const Program &program, int64_t arenaBytes);

  /// The arena with the scratch behind it.
  uint64_t arenaBytes() const { return begin + size; }
  /// Where the scratch of the next launch lies; without bytes, if it has none.
  artifact::Operand next(const FlatLaunch &launch);

private:
  uint64_t begin, size = 0, used = 0;
};

} // namespace act
#endif
