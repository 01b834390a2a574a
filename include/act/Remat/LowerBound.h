// SPDX-License-Identifier: Apache-2.0
//
// What no schedule can do better, at a glance.
#ifndef ACT_REMAT_LOWERBOUND_H
#define ACT_REMAT_LOWERBOUND_H
#include "act/Remat/Graph.h"

namespace act::remat {

/// No schedule has a smaller peak: each node's inputs, result and workspace are
/// there together.
int64_t leastPeak(const Graph &graph);

} // namespace act::remat
#endif
