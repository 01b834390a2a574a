// SPDX-License-Identifier: Apache-2.0
//
// Limits of the kernels that go over rows once for a norm's gradient and sum up
// the gradients of its weight and bias next to it.
#ifndef ACT_DIALECTS_ACT_NORMLOWERING_H
#define ACT_DIALECTS_ACT_NORMLOWERING_H
#include <cstdint>

namespace act {

/// The partial sums, one for each program that goes over the rows.
constexpr int64_t rowParts = 64;
/// The longest row that one GPU program holds whole.
constexpr int64_t widestSummedRow = 16384;

} // namespace act
#endif
