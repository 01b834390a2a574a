// SPDX-License-Identifier: Apache-2.0
//
// Masks of attention that are written as comparisons of counted places.
#ifndef ACT_PASSES_RAISE_MASKFORM_H
#define ACT_PASSES_RAISE_MASKFORM_H
#include "passes/raise/LinalgForm.h"

namespace act {

/// Which keys a query sees, for a mask whose last two dimensions are queries
/// and keys; it is the same along others.
struct CausalMatch {
  std::optional<int64_t> window;
  bool topLeft = false;
  bool negated = false; ///< the mask says which keys it does not see
};
std::optional<CausalMatch> causalMaskAt(mlir::linalg::GenericOp op);
/// Whether the elements that are read count 0, 1, 2, ... along dimension `dim`
/// of `rank` iterations, and are the same along others.
bool countsAlong(const Read &read, unsigned dim, unsigned rank);

} // namespace act
#endif
