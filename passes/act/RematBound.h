// SPDX-License-Identifier: Apache-2.0
//
// How cheap recomputation can be at best, for a whole step with every layer
// written out.
//
// The space: the kernels of the program without recomputation run in their
// order; any op of them may run again at any later time, any number of times,
// alone; a value takes its bytes from when it is made until its last use or
// until it is dropped. Of that space, one moment at a time is looked at: while
// a product runs, what it reads is there, beside everything kept across it
// (act/Remat/Crossing.h). The largest of these bounds is the answer. It does
// not see that recomputing needs memory, or that before the moment things ran
// again.
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
