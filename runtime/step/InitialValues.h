// SPDX-License-Identifier: Apache-2.0
//
// What a parameter holds before training. Element i of a normal parameter is a
// pure function of (seed, the parameter's name, i): Philox keyed by seed and
// name, counter i / 4, and Box-Muller, in double, then rounded to the element
// type. So it depends on neither threads nor order nor on other parameters.
#ifndef ACT_RUNTIME_STEP_INITIALVALUES_H
#define ACT_RUNTIME_STEP_INITIALVALUES_H
#include "act/Artifact/Step.h"
#include "act/Result.h"

namespace act::runtime {

/// Fills `target`, which has byteSize(parameter.type) bytes.
Status initialise(const artifact::Parameter &parameter, uint64_t seed,
                  void *target);

/// Converts `n` float elements into the bytes of `type`; quantises for nf4.
Status storeValues(const artifact::TensorType &type, artifact::DType from,
                   const void *source, void *target);
/// Reads the bytes of `type` as `to`; dequantises nf4.
Status loadValues(const artifact::TensorType &type, const void *source,
                  artifact::DType to, void *target);

} // namespace act::runtime
#endif
