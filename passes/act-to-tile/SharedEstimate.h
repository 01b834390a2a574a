// SPDX-License-Identifier: Apache-2.0
//
// The shared memory that a kernel of products will take, estimated from its
// grid before it exists.
#ifndef ACT_PASSES_ACTTOTILE_SHAREDESTIMATE_H
#define ACT_PASSES_ACTTOTILE_SHAREDESTIMATE_H
#include "passes/act-to-tile/KernelGrid.h"
#include "passes/act-to-tile/PlanInputs.h"

namespace act::tile {

/// Bytes of shared memory of a program. It holds
///
/// - operands of products that stay the same in the loop, once;
/// - those that change, as often as the kernel has stages;
/// - computed operands whose elements other threads have, once;
/// - after the loop, in the same place, the results, which are stored in
///   another layout than products leave them in.
///
/// `whole`: as part of its group; else the products alone, as if nothing came
/// before or after them, and with room to spare: for the choice of an order.
int64_t sharedEstimate(const KernelGrid &grid, const KernelResults &results,
                       bool whole = true);

} // namespace act::tile
#endif
