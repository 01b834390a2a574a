// SPDX-License-Identifier: Apache-2.0
//
// Act ops that are made of others: linear layers, gated units and rotary
// embeddings, where each part is an act op already.
#ifndef ACT_PASSES_RAISE_ACTFORM_H
#define ACT_PASSES_RAISE_ACTFORM_H
#include "passes/raise/Maker.h"

namespace act {

/// What the op and those that it reads are together; null if nothing else.
mlir::Value actFormOf(mlir::Operation *op, Maker &make);
/// act.linear for a product with a weight: an argument, or a view of one.
mlir::Value linearFor(mlir::Operation *op, Maker &make);

} // namespace act
#endif
