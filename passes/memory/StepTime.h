// SPDX-License-Identifier: Apache-2.0
//
// The time of a step on a named card, before it runs. A launch takes
//
//   max(flops / (peak of its units * what such kernels reach of it),
//       least bytes / (bandwidth * what kernels reach of it)) + 3 us
//
// where products and attention count apart. What they reach was measured
// (lib/Target/Target.cpp); tests compare the sum with measured steps.
#ifndef ACT_PASSES_MEMORY_STEPTIME_H
#define ACT_PASSES_MEMORY_STEPTIME_H
#include "act/Target/Target.h"
#include "passes/kernels/Flatten.h"

namespace act {

/// Seconds of the whole program, its update included.
double stepSeconds(const Program &program, const Card &card);

} // namespace act
#endif
