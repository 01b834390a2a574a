// SPDX-License-Identifier: Apache-2.0
//
// Writes the program of Relaxation.h and turns its solutions into schedules. A
// variable that no schedule needs is not made: a value has none in an interval
// after its last possible use.
#include "lib/Remat/Relaxation.h"
#include <algorithm>
#include <map>

namespace act::remat {

Relaxation::Relaxation(const Instance &in, int64_t budget,
                       const Moments &moments, int64_t dearest)
    : in(in), budget(budget), costUnit(1), once(in.size), horizon(in.size) {
  // Integers where they are small, and never so large or so small that the
  // solver's tolerances matter.
  const int64_t steps = budget / in.byteStep;
  scale = static_cast<double>(steps < 1'000'000 ? in.byteStep : budget);
  int64_t largest = 0;
  for (int32_t i = 0; i < in.size; ++i)
    if (in.cost[i] <= dearest)
      largest = std::max(largest, in.cost[i]);
  costUnit = std::max(static_cast<double>(in.costStep),
                      static_cast<double>(largest) / 1e5);
  for (int32_t i = in.size; i-- > 0;) {
    once[i] = in.fixed[i] || in.cost[i] > dearest;
    horizon[i] = in.lastUser[i];
    for (int32_t u : in.users[i])
      if (!once[u])
        horizon[i] = std::max(horizon[i], horizon[u]);
  }
  int32_t first = 0;
  for (int32_t t : moments.stages) {
    intervals.push_back({first, t, {}, {}});
    first = t + 1;
  }
  for (size_t k = 0; k < intervals.size(); ++k) {
    addInterval(intervals[k], k ? &intervals[k - 1] : nullptr);
    addMoment(intervals[k]);
  }
  for (auto [stage, node] : moments.events)
    for (size_t k = 1; k < intervals.size(); ++k)
      if (intervals[k].first == stage && intervals[k].last == stage)
        addEvent(intervals[k - 1], intervals[k], node);
}

/// Variables and rows of an interval. A value that may be made only once, and
/// has a user later, is kept for sure: its `keep` has the lower bound 1.
void Relaxation::addInterval(Interval &now, const Interval *before) {
  now.again.assign(in.size, -1);
  now.keep.assign(in.size, -1);
  for (int32_t i = 0; i <= now.last; ++i) {
    if (i < now.first && !once[i] && useful(i, now.first - 1))
      now.again[i] =
          milp.variable(static_cast<double>(in.cost[i]) / costUnit, true);
    if (useful(i, now.last))
      now.keep[i] =
          milp.variable(0, true, once[i] && in.lastUser[i] > now.last);
  }
  if (!before)
    return;
  for (int32_t i = 0; i < now.first; ++i) {
    int32_t kept = before->keep[i], again = now.again[i];
    if (kept < 0)
      continue;
    if (again >= 0)
      // What is kept need not be computed again: leaving the recomputation out
      // breaks no other row and costs less. The row only cuts off such
      // solutions.
      milp.row({{kept, 1}, {again, 1}}, 0, 1);
    if (now.keep[i] >= 0) {
      std::vector<Milp::Term> terms{{kept, 1}, {now.keep[i], -1}};
      if (again >= 0)
        terms.push_back({again, 1});
      milp.row(terms, 0, Milp::infinity);
    }
    // One row for all users that are computed first here.
    auto user =
        std::lower_bound(in.users[i].begin(), in.users[i].end(), now.first);
    if (user != in.users[i].end() && *user <= now.last) {
      std::vector<Milp::Term> terms{{kept, 1}};
      if (again >= 0)
        terms.push_back({again, 1});
      milp.row(terms, 1, Milp::infinity);
      continue; // which covers users that are computed again, too
    }
    for (int32_t j : in.users[i]) {
      if (j >= now.first || now.again[j] < 0)
        continue;
      std::vector<Milp::Term> terms{{kept, 1}, {now.again[j], -1}};
      if (again >= 0)
        terms.push_back({again, 1});
      milp.row(terms, 0, Milp::infinity);
    }
  }
}

/// The budget at the moment. What node t reads and makes is there in any case
/// and is taken off the room; a row that cannot be violated is left out.
void Relaxation::addMoment(const Interval &now) {
  const int32_t t = now.last;
  int64_t room = budget - in.bytes[t] - in.workspace[t];
  for (int32_t a : in.inputs[t])
    room -= in.bytes[a];
  fits &= room >= 0;
  std::vector<Milp::Term> terms;
  int64_t most = 0;
  for (int32_t i = 0; i < t; ++i) {
    if (now.keep[i] < 0 || in.bytes[i] == 0 ||
        std::binary_search(in.inputs[t].begin(), in.inputs[t].end(), i))
      continue;
    terms.push_back({now.keep[i], static_cast<double>(in.bytes[i]) / scale});
    most += in.bytes[i];
  }
  if (most > room)
    milp.row(terms, -Milp::infinity, static_cast<double>(room) / scale);
}

/// The budget while `node` is computed again in a stage that is an interval by
/// itself.
void Relaxation::addEvent(const Interval &before, const Interval &now,
                          int32_t node) {
  const int32_t t = now.last;
  std::map<int32_t, double> terms;
  int64_t room = budget;
  if (now.again[node] < 0)
    return;
  terms[now.again[node]] =
      static_cast<double>(in.bytes[node] + in.workspace[node]) / scale;
  for (int32_t i = 0; i < t; ++i) {
    const double bytes = static_cast<double>(in.bytes[i]) / scale;
    if (i == node || bytes == 0)
      continue;
    if (i > node) { // kept into the stage, or not made yet
      if (before.keep[i] >= 0)
        terms[before.keep[i]] += bytes;
      continue;
    }
    // Alive if kept after the stage, or used by a computation from here on.
    std::vector<int32_t> needs;
    if (now.keep[i] >= 0)
      needs.push_back(now.keep[i]);
    bool sure = false;
    for (int32_t u : in.users[i]) {
      sure |= u == t;
      if (u >= node && u < t && now.again[u] >= 0)
        needs.push_back(now.again[u]);
    }
    if (sure) {
      room -= in.bytes[i];
    } else if (needs.size() == 1) {
      terms[needs[0]] += bytes;
    } else if (!needs.empty()) {
      // The maximum of its reasons. It need not be an integer: a smaller value
      // than the maximum is excluded, and a larger one helps nothing.
      int32_t alive = milp.variable(0, false);
      for (int32_t need : needs)
        milp.row({{alive, 1}, {need, -1}}, 0, Milp::infinity);
      terms[alive] += bytes;
    }
  }
  std::vector<Milp::Term> row;
  for (auto [variable, factor] : terms)
    row.push_back({variable, factor});
  milp.row(row, -Milp::infinity, static_cast<double>(room) / scale);
}

Recomputations Relaxation::schedule(const std::vector<double> &values) const {
  Recomputations out(in.size);
  auto set = [&](int32_t variable) {
    return variable >= 0 && values[variable] > 0.5;
  };
  std::vector<char> todo(in.size);
  for (const Interval &k : intervals) {
    for (int32_t i = 0; i < k.first; ++i)
      todo[i] = set(k.again[i]);
    std::vector<int32_t> stack;
    auto need = [&](int32_t node, int32_t stage) {
      stack.push_back(node);
      while (!stack.empty()) {
        int32_t i = stack.back();
        stack.pop_back();
        if (i >= k.first || !todo[i])
          continue;
        todo[i] = 0;
        out[stage].push_back(i);
        stack.insert(stack.end(), in.inputs[i].begin(), in.inputs[i].end());
      }
    };
    for (int32_t t = k.first; t <= k.last; ++t)
      for (int32_t a : in.inputs[t])
        need(a, t);
    for (int32_t i = 0; i < k.first; ++i)
      if (set(k.keep[i]))
        need(i, k.last);
  }
  for (auto &list : out)
    std::sort(list.begin(), list.end());
  return out;
}

} // namespace act::remat
