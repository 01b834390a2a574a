// SPDX-License-Identifier: Apache-2.0
//
// The gradients of a norm's weight and bias as kernels that go over rows once:
// partial sums for some rows, next to the gradient of these rows' input, and a
// final sum of the parts.
#ifndef ACT_DIALECTS_ACT_NORMLOWERING_H
#define ACT_DIALECTS_ACT_NORMLOWERING_H
#include "dialects/act/Dialect.h"

namespace act {

/// The partial sums, one for each program that goes over the rows.
constexpr int64_t rowParts = 64;
/// The longest row that one GPU program holds whole.
constexpr int64_t widestSummedRow = 16384;

} // namespace act
#endif
