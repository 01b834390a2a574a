// SPDX-License-Identifier: Apache-2.0
//
// How cheap recomputation can be at best, for a whole step with every layer
// written out.
//
// The space: the kernels of the program without recomputation run in their
// order, with what they read, make and work with in memory; any op of them may
// run again at any later time, any number of times, alone; a value takes its
// bytes from when it is made until its last use or until it is dropped. Of that
// space, one moment at a time is looked at: what a kernel touches is there,
// beside everything kept across it (act/Remat/Crossing.h). The largest of these
// bounds, over the moments at which most is kept or touched, is the answer. It
// does not see that recomputing needs memory itself, nor what ran again before
// the moment. So it is tight where values are dropped in all layers alike, and
// loose where whole layers are run again from afar (segments).
#ifndef ACT_PASSES_ACT_REMATBOUND_H
#define ACT_PASSES_ACT_REMATBOUND_H
#include "passes/act/RematCost.h"

namespace act {

/// Femtoseconds; nothing that peaks at `budget` bytes or less recomputes less.
/// `module` has a @grad without recomputation.
llvm::FailureOr<int64_t> leastRecomputation(mlir::ModuleOp module,
                                            int64_t budget, const Rates &rates);

} // namespace act
#endif
