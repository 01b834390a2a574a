// SPDX-License-Identifier: Apache-2.0
//
// Element values between types. Narrowing rounds to nearest, ties to even; NaN
// stays NaN; what exceeds f16 becomes infinity, what exceeds f8E4M3FN (which
// has no infinity) becomes NaN.
#ifndef ACT_ARTIFACT_CONVERT_H
#define ACT_ARTIFACT_CONVERT_H
#include "act/Artifact/Step.h"
#include <cstddef>

namespace act::artifact {

/// Reads element `i` of an array of a float type (not nf4).
double loadFloat(DType type, const void *data, size_t i);
void storeFloat(DType type, void *data, size_t i, double value);

/// Converts `n` elements between float types; equal types, of integers too, are
/// copied. Neither side need be aligned.
void convertFloats(DType from, const void *source, DType to, void *target,
                   size_t n);

/// Whether none of `n` elements is infinite or NaN; true of types that are no
/// floats.
bool allFinite(DType type, const void *data, size_t n);

} // namespace act::artifact
#endif
