// SPDX-License-Identifier: Apache-2.0
//
// Products of narrow floating-point numbers in the exact way, whatever they are
// (TensorCore.h has the model); ProductTile.h comes here when its way is not.
#ifndef ACT_RUNTIME_SIM_NARROWPRODUCT_H
#define ACT_RUNTIME_SIM_NARROWPRODUCT_H
#include "runtime/sim/TensorCore.h"

namespace act::runtime::sim {

/// Exponents beyond those of any number: zero never wins the maximum, a special
/// always does, even times zero.
constexpr int zeroExponent = -2000, specialExponent = 6000, special = 1000;

/// multiply() of codes: a[k][m], b[k][n], c[m][n] in place; n a multiple of 8.
/// K is taken as it stands, whatever `how.order` says.
void multiplyExactly(const Accumulation &how, Extent extent, Element aType,
                     Element bType, const uint32_t *a, const uint32_t *b,
                     uint32_t *c);
/// In which order `how` takes the k positions along K.
void orderOf(const Accumulation &how, unsigned k, unsigned *order);

} // namespace act::runtime::sim
#endif
