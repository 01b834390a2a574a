// SPDX-License-Identifier: Apache-2.0
//
// A lower bound on the cost of recomputation, for a whole step with every layer
// written out.
//
// The search space:
// - The kernels of the program without recomputation run in their order. What a
//   kernel reads, makes and works with is in memory.
// - Any op of them may run again alone, at any later time and any number of
//   times.
// - A value takes its bytes from when it is made until its last use or until it
//   is dropped.
//
// The bound looks at one moment at a time: what a kernel touches is in memory,
// plus everything kept across it (act/Remat/Crossing.h). The result is the
// largest bound over the moments at which most is kept or touched. It ignores
// the memory that recomputation itself needs and what ran again earlier. So it
// is tight where all layers drop the same values, and loose where whole layers
// run again from far back (segments).
#ifndef ACT_PASSES_REMAT_REMATBOUND_H
#define ACT_PASSES_REMAT_REMATBOUND_H
#include "passes/memory/OpCost.h"

namespace act {

/// Lower bound in femtoseconds on the recomputation of any schedule whose peak
/// is at most `budget` bytes. `module` has a @grad without recomputation.
llvm::FailureOr<int64_t> leastRecomputation(mlir::ModuleOp module,
                                            int64_t budget, const Rates &rates);

} // namespace act
#endif
