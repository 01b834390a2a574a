// SPDX-License-Identifier: Apache-2.0
//
// Normalisation along the last dimension, in parts.
#ifndef ACT_PASSES_RAISE_NORMFORM_H
#define ACT_PASSES_RAISE_NORMFORM_H
#include "passes/raise/LinalgForm.h"

namespace act {

struct NormMatch {
  mlir::Value input;
  Read weight, bias; ///< rows of the last dimension; an RMS norm has no bias
  double eps;
};

/// weight * (x - mean) / sqrt(mean of (x - mean)^2 + eps) + bias, from its sum.
std::optional<NormMatch> layerNormAt(mlir::linalg::GenericOp op);
/// weight * x / sqrt(mean of x^2 + eps), from one of its products.
std::optional<NormMatch> rmsNormAt(mlir::linalg::GenericOp op);

/// (x - mean) / sqrt(mean of (x - mean)^2 + eps), or x / sqrt(mean of x^2 +
/// eps), which nothing is multiplied by: weight and bias are not there.
struct BareNorm {
  mlir::Value input;
  double eps;
  bool isCentred;
};
std::optional<BareNorm> bareNormAt(mlir::linalg::GenericOp op);

} // namespace act
#endif
