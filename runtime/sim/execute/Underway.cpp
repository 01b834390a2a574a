// SPDX-License-Identifier: Apache-2.0
//
// The launches under way and the numbers of their CTAs.
#include "runtime/sim/execute/Underway.h"
#include <algorithm>

namespace act::runtime::sim {

/// A new launch knows which others are still running: accesses of all others
/// lie in its past.
bool Underway::add(std::shared_ptr<Grid> grid) {
  uint32_t first =
      grids.empty() ? 0 : grids.back()->firstCta + grids.back()->ctaCount;
  if (grid->ctaCount >= (uint32_t(1) << ctaBits) - first)
    return false;
  grid->firstCta = first;
  for (const auto &other : grids)
    if (std::find(ended.begin(), ended.end(), other.get()) == ended.end())
      grid->beside.push_back(
          {other->firstCta, other->firstCta + other->ctaCount});
  grids.push_back(std::move(grid));
  ++running;
  return true;
}

void Underway::end(const Grid &grid) {
  ended.push_back(&grid);
  if (--running)
    return;
  grids.clear();
  ended.clear();
  for (ReleaseTable &table : releases) {
    table.words.clear();
    table.histories.clear();
  }
}

const Grid &Underway::gridOf(uint32_t cta) const {
  auto behind = std::upper_bound(
      grids.begin(), grids.end(), cta,
      [](uint32_t c, const auto &grid) { return c < grid->firstCta; });
  return **std::prev(behind);
}

} // namespace act::runtime::sim
