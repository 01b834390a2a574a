// SPDX-License-Identifier: Apache-2.0
//
// Conversion of elements between types. Narrowing rounds to nearest, ties to
// even; NaN stays NaN. A value too large for f16 becomes infinity, one too
// large for f8E4M3FN (which has no infinity) becomes NaN.
#ifndef ACT_ARTIFACT_CONVERT_H
#define ACT_ARTIFACT_CONVERT_H
#include "act/Artifact/Step.h"
#include <cstddef>

namespace act::artifact {

/// Reads element `i` of an array of a float type (not nf4).
double loadFloat(DType type, const void *data, size_t i);
void storeFloat(DType type, void *data, size_t i, double value);

/// Converts `n` elements between float types; equal types, integers included,
/// are copied. Neither pointer need be aligned.
void convertFloats(DType from, const void *source, DType to, void *target,
                   size_t n);

/// Whether none of `n` elements is infinite or NaN; true for non-float types.
bool allFinite(DType type, const void *data, size_t n);

} // namespace act::artifact
#endif
