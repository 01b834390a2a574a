// SPDX-License-Identifier: Apache-2.0
#include "passes/act-to-tile/PlanAttention.h"
#include "passes/act-to-tile/BlockEvaluator.h"
#include "passes/act-to-tile/SumOrder.h"

using namespace mlir;
using namespace act::tile;

/// The attention that the products are, or nothing: forward one more product
/// than the result's, backward two.
static std::optional<AttentionSize> sizeOf(const KernelGrid &grid,
                                           const ProductShape &p,
                                           const KernelResults &results) {
  const SmallVector<Value> products = nearestProducts(results.stored);
  const ProductFacts facts = factsOf(products);
  const int64_t added = results.added.size(),
                inner = facts.products - facts.kept;
  if (facts.read || facts.draws || facts.windowed || added > 1 ||
      inner != 1 + added || facts.kept != 1 + added)
    return {};
  AttentionSize size;
  size.backward = added > 0;
  size.causal = facts.compares;
  ArrayRef<int64_t> shape = shapeOf(grid.root);
  for (auto [d, n] : llvm::enumerate(shape))
    if (int(d) != p.rows && int(d) != p.columns)
      size.heads *= n;
  const int64_t rows = shape[p.rows], others = longestSum(products);
  size.queries = size.backward ? others : rows;
  size.keys = size.backward ? rows : others;
  // Scores are sums over the width, and backward the gradients of probabilities
  // are sums over values; dq is as wide as a query.
  SmallVector<int64_t> sums;
  for (Value v : products)
    if (auto op = v.getDefiningOp<linalg::GenericOp>())
      for (Value inner : nearestProducts(op.getDpsInputs()))
        sums.push_back(longestSum(inner));
  if (sums.empty())
    return {};
  auto [least, most] = std::minmax_element(sums.begin(), sums.end());
  size.width =
      size.backward ? shapeOf(unshaped(results.added[0])).back() : sums.front();
  size.values = !size.backward        ? shape[p.columns]
                : *most == size.width ? *least
                                      : *most;
  return size;
}

std::optional<KernelGrid> act::tile::asListed(const KernelGrid &planned,
                                              const ProductShape &p,
                                              const KernelResults &results,
                                              const ScheduleTable *table) {
  const std::optional<AttentionSize> size =
      table ? sizeOf(planned, p, results) : std::nullopt;
  const AttentionSchedule *found =
      size ? table->nearest(*size, planned.inGroups) : nullptr;
  if (!found || (!planned.inGroups && !isHalf(planned.root)))
    return {};
  KernelGrid g = planned;
  g.isListed = true;
  g.stages = found->stages;
  if (!g.inGroups) {
    g.warps = found->warps;
    g.early = found->early;
    g.ahead = found->ahead;
    if (!size->backward)
      g.blocks[p.rows] = found->rows;
    // More warps than planned could have to share padded blocks.
    const int64_t columns = g.blocks[p.columns];
    if (!canShare(g.blocks[p.rows], columns, g.warps) ||
        (size->backward && !canShare(g.step, columns, g.warps)))
      return {};
    return g;
  }
  g.rotated = found->rotated;
  g.turns = found->turns;
  g.persistent = found->persistent;
  g.a = found->a;
  if (size->backward) {
    g.stores = found->stores;
  } else {
    const int64_t most =
        llvm::divideCeil(shapeOf(g.root)[p.rows], ScheduleAttr::groupRows);
    g.takeGroups(p.rows, std::min(found->groups, most));
  }
  // Queries, or backward keys and values, of 64 rows for each group.
  const int64_t kept = g.a != FirstOperand::Registers ? 0
                       : size->backward ? (size->width + size->values) / 4
                                        : size->width / 4;
  if (!haveRegisters(g, p, factsOf(nearestProducts(results.stored)),
                     results.added.size(), kept))
    return {};
  return g;
}
