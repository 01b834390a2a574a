// SPDX-License-Identifier: Apache-2.0
//
// Initial values of parameters. Element i of a normal parameter is a pure
// function of (seed, the parameter's name, i): Philox keyed by seed and name,
// then Box-Muller (Normals.h), then rounding to the element type. So it does
// not depend on device, threads, order or other parameters.
#ifndef ACT_RUNTIME_STEP_INITIALVALUES_H
#define ACT_RUNTIME_STEP_INITIALVALUES_H
#include "runtime/step/TensorBytes.h"

namespace act::runtime {

/// The elements of `parameter`.
Elements initialElements(const artifact::Parameter &parameter, uint64_t seed);

} // namespace act::runtime
#endif
