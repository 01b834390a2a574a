// SPDX-License-Identifier: Apache-2.0
//
// Bounds on a model's integer inputs, taken from the tables that they index.
#ifndef ACT_PASSES_EMIT_INPUTRANGE_H
#define ACT_PASSES_EMIT_INPUTRANGE_H
#include "dialects/act/Dialect.h"

namespace act {

struct InputRange {
  uint64_t vocabulary = 0;   ///< rows of the table indexed by `tokens`, or 0
  uint64_t maxPositions = 0; ///< rows of the position table, or 0
};

/// Works on a module of any stage; reads @forward, or @grad without one.
InputRange inputRange(mlir::ModuleOp module);

} // namespace act
#endif
