// SPDX-License-Identifier: Apache-2.0
//
// A cheap lower bound for all schedules.
#ifndef ACT_REMAT_LOWERBOUND_H
#define ACT_REMAT_LOWERBOUND_H
#include "act/Remat/Graph.h"

namespace act::remat {

/// No schedule has a smaller peak (bytes): each node's inputs, result and
/// workspace are alive together.
int64_t leastPeak(const Graph &graph);

} // namespace act::remat
#endif
