// SPDX-License-Identifier: Apache-2.0
//
// Softmax and activations, in parts.
#ifndef ACT_PASSES_RAISE_SOFTMAXFORM_H
#define ACT_PASSES_RAISE_SOFTMAXFORM_H
#include "passes/raise/LinalgForm.h"

namespace act {

/// The row that a softmax is of, and along which dimension.
struct SoftmaxMatch {
  mlir::Value input;
  unsigned axis;
  bool isSafe; ///< the maximum is subtracted
};

/// Whether a quotient, or a product with a reciprocal, is a softmax.
std::optional<SoftmaxMatch> softmaxAt(mlir::linalg::GenericOp op);
/// The act.softmax of a choice between it and zeros, where all of a row is
/// -inf: it gives zeros there itself.
mlir::Value guardedSoftmaxAt(mlir::linalg::GenericOp op);
/// x of x * sigmoid(x) or x / (1 + exp(-x)).
mlir::Value siluAt(mlir::linalg::GenericOp op);
/// x of 0.5 * x * (1 + erf(x / sqrt(2))), in any order.
mlir::Value geluAt(mlir::linalg::GenericOp op);
/// x of 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))), in any
/// order.
mlir::Value geluNewAt(mlir::linalg::GenericOp op);

} // namespace act
#endif
