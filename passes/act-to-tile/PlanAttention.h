// SPDX-License-Identifier: Apache-2.0
//
// Schedules of attention by warp groups from the target's table.
#ifndef ACT_PASSES_ACTTOTILE_PLANATTENTION_H
#define ACT_PASSES_ACTTOTILE_PLANATTENTION_H
#include "passes/act-to-tile/Behind.h"
#include "passes/act-to-tile/KernelGrid.h"
#include "passes/act-to-tile/PlanInputs.h"
#include <optional>

namespace act::tile {

/// `planned` with the schedule that the table has for the nearest attention;
/// `product` is the root's. Every bit of the results is as it was: the keys at
/// a time stay, and where a product is added to memory, the rows do.
///
/// Nothing if the table has none near, if a thread has no registers for it, or
/// if the products are not those that a table tells apart: others are read
/// beside them, or random numbers are drawn.
std::optional<KernelGrid> asListed(const KernelGrid &planned,
                                   const ProductShape &product,
                                   const KernelResults &results,
                                   const ScheduleTable *table);

} // namespace act::tile
#endif
