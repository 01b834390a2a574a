// SPDX-License-Identifier: Apache-2.0
//
// Exact products of any narrow floating-point numbers (TensorCore.h has the
// model). ProductTile.h uses them where its fast path is not exact.
#ifndef ACT_RUNTIME_SIM_ARITHMETIC_NARROWPRODUCT_H
#define ACT_RUNTIME_SIM_ARITHMETIC_NARROWPRODUCT_H
#include "runtime/sim/arithmetic/TensorCore.h"

namespace act::runtime::sim {

/// Exponents outside the range of any number: in the maximum a zero never wins,
/// and infinity and NaN always do, even times zero.
constexpr int zeroExponent = -2000, specialExponent = 6000, special = 1000;

/// multiply() of codes: a[k][m], b[k][n], c[m][n] in place; n a multiple of 8.
/// Takes K in the given order and ignores `how.order`.
void multiplyExactly(const Accumulation &how, Extent extent, Element aType,
                     Element bType, const uint32_t *a, const uint32_t *b,
                     uint32_t *c);
/// The order in which `how` takes the k positions along K.
void orderOf(const Accumulation &how, unsigned k, unsigned *order);

} // namespace act::runtime::sim
#endif
