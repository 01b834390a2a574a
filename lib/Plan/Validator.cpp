// SPDX-License-Identifier: Apache-2.0
//
// Sweeps over time with the living buffers in a map by offset. As long as they
// are disjoint, a newcomer can only collide with its two neighbours.
#include "act/Plan/Validator.h"
#include <algorithm>
#include <iterator>
#include <map>

namespace act::plan {

Result<Verdict> validate(const Problem &problem, const Plan &plan) {
  const auto &buffers = problem.buffers;
  if (Status s = problem.check(); !s)
    return s.error();
  if (plan.offsets.size() != buffers.size())
    return Error{"plan has " + std::to_string(plan.offsets.size()) +
                     " offsets for " + std::to_string(buffers.size()) +
                     " buffers",
                 ""};
  Verdict verdict;
  struct Event {
    int64_t time;
    bool birth;
    size_t buffer;
  };
  std::vector<Event> events;
  for (size_t i = 0; i < buffers.size(); ++i) {
    int64_t offset = plan.offsets[i], bytes = buffers[i].footprint();
    auto at =
        "buffer '" + buffers[i].name + "' at offset " + std::to_string(offset);
    if (offset < 0 || offset > plan.arenaBytes - bytes)
      return Error{at + " with " + std::to_string(bytes) +
                       " bytes leaves the arena of " +
                       std::to_string(plan.arenaBytes) + " bytes",
                   ""};
    if (offset % buffers[i].alignment != 0)
      return Error{at + " is not aligned to " +
                       std::to_string(buffers[i].alignment),
                   ""};
    verdict.highestByte = std::max(verdict.highestByte, offset + bytes);
    if (bytes == 0)
      continue;
    events.push_back({buffers[i].first, true, i});
    events.push_back({buffers[i].last, false, i});
  }
  std::sort(events.begin(), events.end(), [](const Event &x, const Event &y) {
    return x.time != y.time ? x.time < y.time : x.birth < y.birth;
  });
  std::map<int64_t, size_t> alive; // offset -> buffer
  int64_t live = 0;
  for (const Event &e : events) {
    const Buffer &b = buffers[e.buffer];
    int64_t offset = plan.offsets[e.buffer];
    if (!e.birth) {
      alive.erase(offset);
      live -= b.footprint();
      continue;
    }
    auto clash = [&](size_t other) {
      return Error{"buffers '" + buffers[other].name + "' and '" + b.name +
                       "' share bytes at time " + std::to_string(e.time) +
                       " (offsets " + std::to_string(plan.offsets[other]) +
                       " and " + std::to_string(offset) + ")",
                   ""};
    };
    auto above = alive.lower_bound(offset);
    if (above != alive.end() && above->first < offset + b.footprint())
      return clash(above->second);
    if (above != alive.begin()) {
      size_t below = std::prev(above)->second;
      if (plan.offsets[below] + buffers[below].footprint() > offset)
        return clash(below);
    }
    alive.emplace(offset, e.buffer);
    live += b.footprint();
    verdict.lowerBoundBytes = std::max(verdict.lowerBoundBytes, live);
  }
  return verdict;
}

} // namespace act::plan
