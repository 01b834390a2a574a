// SPDX-License-Identifier: Apache-2.0
#include "lib/Remat/Greedy.h"
#include <algorithm>

namespace act::remat {

/// Every tensor that is alive in the step, not used by it, and used later.
std::vector<Greedy::Drop> Greedy::drops(const Timeline &now,
                                        int32_t step) const {
  std::vector<Drop> out;
  std::vector<int32_t> next(in.size, -1); // the next event is a use in this step
  std::vector<char> idle(in.size, 0);
  for (int32_t s = 0; s < step; ++s)
    idle[now.steps[s]] = now.lastUse[s] > step;
  idle[now.steps[step]] = 0;
  for (int32_t a : in.inputs[now.steps[step]])
    idle[a] = 0;
  for (auto s = static_cast<size_t>(step) + 1; s < now.steps.size(); ++s)
    for (int32_t a : in.inputs[now.steps[s]])
      if (idle[a] && !in.fixed[a]) {
        idle[a] = 0;
        out.push_back({a, now.stage[s]});
      }
  return out;
}

/// False if the node is computed in that stage already.
bool Greedy::add(Recomputations &again, const Timeline &now, Drop drop) const {
  std::vector<int32_t> &list = again[drop.stage];
  auto place = std::lower_bound(list.begin(), list.end(), drop.node);
  if (place != list.end() && *place == drop.node)
    return false;
  list.insert(place, drop.node);
  // The inputs must be there: alive anyway, kept longer, or computed again too.
  auto at = static_cast<int32_t>(
      std::lower_bound(now.stage.begin(), now.stage.end(), drop.stage) -
      now.stage.begin());
  while (now.stage[at] == drop.stage && now.steps[at] < drop.node)
    ++at;
  for (int32_t a : in.inputs[drop.node]) {
    int32_t made = at - 1;
    while (now.steps[made] != a)
      --made;
    bool fits = true;
    for (int32_t s = now.lastUse[made] + 1; fits && s <= at; ++s)
      fits = now.bytes[s] + in.bytes[a] <= budget;
    if (!fits && !in.fixed[a])
      add(again, now, {a, drop.stage});
  }
  return true;
}

bool Greedy::descend(Recomputations &again, double noise) {
  Timeline now(in, again);
  while (now.peak > budget) {
    auto worst = static_cast<int32_t>(
        std::max_element(now.bytes.begin(), now.bytes.end()) -
        now.bytes.begin());
    const double excess = now.excess(budget);
    double bestPrice = 0;
    Recomputations best, trial;
    for (Drop drop : drops(now, worst)) {
      trial = again;
      if (!add(trial, now, drop))
        continue;
      Timeline then(in, trial);
      double gain = excess - then.excess(budget);
      if (gain <= 0)
        continue;
      double price =
          static_cast<double>(then.extraCost - now.extraCost) + 1e-3;
      price /= gain;
      if (noise > 0)
        price *= 1 + noise * (static_cast<double>(random() % 1024) / 1024);
      if (best.empty() || price < bestPrice) {
        bestPrice = price;
        best.swap(trial);
      }
    }
    if (best.empty())
      return false;
    again.swap(best);
    now = Timeline(in, again);
  }
  return true;
}

void Greedy::prune(Recomputations &again) const {
  std::vector<Drop> all;
  for (int32_t t = 0; t < in.size; ++t)
    for (int32_t i : again[t])
      all.push_back({i, t});
  std::stable_sort(all.begin(), all.end(), [&](Drop a, Drop b) {
    return in.cost[a.node] > in.cost[b.node];
  });
  for (Drop d : all) {
    std::vector<int32_t> &list = again[d.stage], before = list;
    list.erase(std::find(list.begin(), list.end(), d.node));
    if (Timeline(in, again).peak > budget)
      list = before;
  }
}

void Greedy::improve(Recomputations &again, int rounds) {
  int64_t best = Timeline(in, again).extraCost;
  for (int round = 0; round < rounds; ++round) {
    Recomputations trial = again;
    const uint32_t keep = 1 + random() % 7; // of 8
    for (auto &list : trial)
      list.erase(std::remove_if(list.begin(), list.end(),
                                [&](int32_t) { return random() % 8 >= keep; }),
                 list.end());
    if (!descend(trial, 0.5))
      continue;
    prune(trial);
    int64_t cost = Timeline(in, trial).extraCost;
    if (cost <= best) {
      best = cost;
      again.swap(trial);
    }
  }
}

} // namespace act::remat
