// SPDX-License-Identifier: Apache-2.0
//
// Act ops for what is made of several ops, at the last of them; null if there
// is none.
#ifndef ACT_PASSES_RAISE_COMPOSEDOPS_H
#define ACT_PASSES_RAISE_COMPOSEDOPS_H
#include "passes/raise/Maker.h"

namespace act {

mlir::Value lossFor(mlir::Operation *op, Maker &make);
/// A layer norm has an RMS norm in it, so it is looked for first.
mlir::Value layerNormFor(mlir::Operation *op, Maker &make);
/// Softmax, activations, RMS norms and causal masks. A softmax that is one op
/// is here, too, as others are made of it.
mlir::Value composedFor(mlir::Operation *op, Maker &make);

} // namespace act
#endif
