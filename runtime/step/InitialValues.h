// SPDX-License-Identifier: Apache-2.0
//
// What a parameter holds before training. Element i of a normal parameter is a
// pure function of (seed, the parameter's name, i): Philox keyed by seed and
// name, and Box-Muller (Normals.h), then rounded to the element type. So it
// depends on neither device nor threads nor order nor other parameters.
#ifndef ACT_RUNTIME_STEP_INITIALVALUES_H
#define ACT_RUNTIME_STEP_INITIALVALUES_H
#include "runtime/step/TensorBytes.h"

namespace act::runtime {

/// The elements of `parameter`.
Elements initialElements(const artifact::Parameter &parameter, uint64_t seed);

} // namespace act::runtime
#endif
