// SPDX-License-Identifier: Apache-2.0
//
// How large the integers that a model is fed may be, read off the tables that
// they are looked up in.
#ifndef ACT_PASSES_EMIT_INPUTRANGE_H
#define ACT_PASSES_EMIT_INPUTRANGE_H
#include "dialects/act/Dialect.h"

namespace act {

struct InputRange {
  uint64_t vocabulary = 0;   ///< rows of the table that `tokens` look up, or 0
  uint64_t maxPositions = 0; ///< rows of the table of positions, or 0
};

/// Of a module of any stage; looks at @forward, or at @grad without one.
InputRange inputRange(mlir::ModuleOp module);

} // namespace act
#endif
