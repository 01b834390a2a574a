// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_RAISE_SINGLEOPS_H
#define ACT_PASSES_RAISE_SINGLEOPS_H
#include "passes/raise/Maker.h"

namespace act {

/// The act value for the result of an op that is an act op by itself; null if
/// it is none.
mlir::Value actValueFor(mlir::Operation *op, Maker &make);

} // namespace act
#endif
