// SPDX-License-Identifier: Apache-2.0
//
// Local search on schedules: drops, moves and removals of single
// recomputations. Every trial is measured on a whole new timeline, so the limit
// is on steps of timelines. The random numbers come from std::minstd_rand,
// which the C++ standard fixes, so that a graph has one schedule.
#include "lib/Remat/Greedy.h"
#include <algorithm>
#include <tuple>

namespace act::remat {

/// All tensors that are alive in the step, unused by it and used later; the
/// most promising first. A dropped tensor is computed again in the stage of its
/// next use, so it frees its bytes from its last use before the step until
/// then. Only steps above the budget count.
std::vector<Greedy::Drop> Greedy::drops(const Timeline &now,
                                        int32_t step) const {
  std::vector<Drop> out;
  std::vector<int32_t> over{0}; // steps above the budget, so far
  for (int64_t bytes : now.bytes)
    over.push_back(over.back() + (bytes > budget));
  std::vector<int32_t> idle(in.size, -1); // since that step, across `step`
  for (int32_t s = 0; s < step; ++s) {
    idle[now.steps[s]] = now.lastUse[s] > step ? s : -1;
    for (int32_t a : in.inputs[now.steps[s]])
      if (idle[a] >= 0)
        idle[a] = s;
  }
  idle[now.steps[step]] = -1;
  for (int32_t a : in.inputs[now.steps[step]])
    idle[a] = -1;
  for (auto s = static_cast<size_t>(step) + 1; s < now.steps.size(); ++s)
    for (int32_t a : in.inputs[now.steps[s]])
      if (idle[a] >= 0) {
        double freed = double(in.bytes[a]) * (over[s] - over[idle[a] + 1]);
        if (!in.fixed[a] && freed > 0)
          out.push_back({a, now.stage[s], double(in.cost[a]) / freed});
        idle[a] = -1;
      }
  std::sort(out.begin(), out.end(), [](const Drop &a, const Drop &b) {
    return std::tie(a.estimate, a.node) < std::tie(b.estimate, b.node);
  });
  return out;
}

/// Adds a recomputation and those that it needs in turn. False if the node is
/// computed in that stage already.
bool Greedy::add(Recomputations &again, const Timeline &now, Drop drop) const {
  std::vector<int32_t> &list = again[drop.stage];
  const auto begin = static_cast<int32_t>(
      std::lower_bound(now.stage.begin(), now.stage.end(), drop.stage) -
      now.stage.begin());
  std::vector<int32_t> todo{drop.node};
  bool changed = false;
  while (!todo.empty()) {
    const int32_t node = todo.back();
    todo.pop_back();
    auto place = std::lower_bound(list.begin(), list.end(), node);
    if (place != list.end() && *place == node)
      continue;
    list.insert(place, node);
    changed = true;
    // Each input must be available: alive anyway, kept longer, or recomputed.
    int32_t at = begin;
    while (now.stage[at] == drop.stage && now.steps[at] < node)
      ++at;
    for (int32_t a : in.inputs[node]) {
      int32_t made = at - 1;
      while (now.steps[made] != a)
        --made;
      bool fits = true;
      for (int32_t s = now.lastUse[made] + 1; fits && s <= at; ++s)
        fits = now.bytes[s] + in.bytes[a] <= budget;
      if (!fits && !in.fixed[a])
        todo.push_back(a);
    }
  }
  return changed;
}

/// The estimate of drops() ignores what the recomputation itself needs, so
/// several drops are carried out and measured. Their number falls with the size
/// of the graph, because a measurement's cost grows with it.
bool Greedy::descend(Recomputations &again, double noise) {
  Timeline now = look(again);
  while (now.peak > budget) {
    if (left < 0)
      return false;
    auto worst = static_cast<int32_t>(
        std::max_element(now.bytes.begin(), now.bytes.end()) -
        now.bytes.begin());
    const double excess = now.excess(budget);
    double bestPrice = 0;
    Recomputations best, trial;
    int32_t tries = std::max(2, 20000 / in.size);
    for (Drop drop : drops(now, worst)) {
      trial = again;
      if (!add(trial, now, drop))
        continue;
      Timeline then = look(trial);
      double gain = excess - then.excess(budget);
      if (gain <= 0)
        continue;
      if (--tries < 0)
        break;
      // The small constant orders drops that cost nothing: the one with the
      // most gain wins.
      double price = static_cast<double>(then.extraCost - now.extraCost) + 1e-3;
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
    now = look(again);
  }
  return true;
}

namespace {

void move(Recomputations &again, int32_t node, int32_t from, int32_t to) {
  std::vector<int32_t> &source = again[from], &target = again[to];
  auto place = std::lower_bound(target.begin(), target.end(), node);
  if (place != target.end() && *place == node)
    return;
  target.insert(place, node);
  source.erase(std::find(source.begin(), source.end(), node));
}

} // namespace

// Each move takes one recomputation, or also those of its stage that it needs
// as inputs, or all of its stage. A recomputation may move to any stage between
// the computation before it and its first use: `from` and `until` are those
// limits.
bool Greedy::shift(Recomputations &again) {
  Timeline now = look(again);
  double excess = now.excess(budget);
  while (excess > 0) {
    Recomputations best, trial;
    double bestExcess = excess;
    const auto steps = static_cast<int32_t>(now.steps.size());
    std::vector<int32_t> made(in.size), from(steps), until(steps, -1);
    for (int32_t s = 0; s < steps; ++s) {
      for (int32_t a : in.inputs[now.steps[s]])
        if (until[made[a]] < 0) // its first use
          until[made[a]] = now.stage[s];
      from[s] = now.steps[s] == now.stage[s]
                    ? now.stage[s]
                    : now.stage[made[now.steps[s]]] + 1;
      made[now.steps[s]] = s;
    }
    for (int32_t s = 0; s < steps; ++s) {
      const int32_t i = now.steps[s], t = now.stage[s];
      for (int32_t to = from[s]; i < t && to <= until[s]; ++to) {
        if (left < 0)
          return false;
        for (int32_t group = 0; group < 3; ++group) {
          trial = again;
          for (int32_t other : again[t])
            if (other == i || group == 2 ||
                (group == 1 && std::binary_search(in.inputs[i].begin(),
                                                  in.inputs[i].end(), other)))
              if (other < to)
                move(trial, other, t, to);
          double e = look(trial).excess(budget);
          if (e < bestExcess) {
            bestExcess = e;
            best.swap(trial);
          }
        }
      }
    }
    if (best.empty())
      return false;
    again.swap(best);
    now = look(again);
    excess = bestExcess;
  }
  return true;
}

void Greedy::prune(Recomputations &again) {
  std::vector<Drop> all;
  for (int32_t t = 0; t < in.size; ++t)
    for (int32_t i : again[t])
      all.push_back({i, t});
  std::sort(all.begin(), all.end(), [&](const Drop &a, const Drop &b) {
    return std::tie(in.cost[b.node], a.node, a.stage) <
           std::tie(in.cost[a.node], b.node, b.stage);
  });
  for (const Drop &d : all) {
    if (left < 0)
      return;
    std::vector<int32_t> &list = again[d.stage], before = list;
    list.erase(std::find(list.begin(), list.end(), d.node));
    if (look(again).peak > budget)
      list = before;
  }
}

void Greedy::improve(Recomputations &again, int rounds) {
  int64_t best = Timeline(in, again).extraCost;
  for (int round = 0; round < rounds; ++round) {
    Recomputations trial = again;
    // How many stay varies from round to round: few leave room for another
    // schedule, many keep what is good about this one.
    const uint32_t keep = 1 + random() % 7; // of 8
    for (auto &list : trial)
      list.erase(std::remove_if(list.begin(), list.end(),
                                [&](int32_t) { return random() % 8 >= keep; }),
                 list.end());
    if (!descend(trial, 0.5))
      continue;
    prune(trial);
    int64_t cost = look(trial).extraCost;
    if (cost <= best) {
      best = cost;
      again.swap(trial);
    }
  }
}

} // namespace act::remat
