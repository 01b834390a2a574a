// SPDX-License-Identifier: Apache-2.0
//
// Act ops for what is made of several ops, at the last of them; null if there
// is none.
#ifndef ACT_PASSES_RAISE_COMPOSEDOPS_H
#define ACT_PASSES_RAISE_COMPOSEDOPS_H
#include "passes/raise/Maker.h"

namespace act {

/// Losses and masks have others in them, so the last op is asked first.
mlir::Value lossFor(mlir::Operation *op, Maker &make);
mlir::Value maskFor(mlir::Operation *op, Maker &make);
/// A layer norm has an RMS norm in it, so it is looked for first.
mlir::Value layerNormFor(mlir::Operation *op, Maker &make);
/// Softmax, activations and RMS norms. A softmax that is one op
/// is here, too, as others are made of it.
mlir::Value composedFor(mlir::Operation *op, Maker &make);

/// Norms that have no weight, after those that have one: it is ones.
mlir::Value bareNormFor(mlir::Operation *op, Maker &make);

} // namespace act
#endif
