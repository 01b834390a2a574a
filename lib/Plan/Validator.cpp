// SPDX-License-Identifier: Apache-2.0
//
// Checks a plan by the definition, pair by pair. It is slower than the solver's
// structures on purpose: a mistake there must not repeat itself here.
#include "act/Plan/Validator.h"
#include <algorithm>
#include <numeric>

namespace act::plan {
namespace {

struct Bytes {
  int64_t low, high;
};

/// The bytes of the arena that a buffer at `offset` uses at `time`.
Bytes used(const Buffer &b, int64_t offset, int64_t time) {
  if (time < b.first || time >= b.last)
    return {0, 0};
  for (const Gap &g : b.gaps)
    if (time >= g.first && time < g.last)
      return {offset + g.low, offset + g.high};
  return {offset, offset + b.bytes};
}

/// The times at which the bytes that a buffer uses change. The end of its life
/// is left out: use only ends there, so no clash can begin.
void addTimes(const Buffer &b, std::vector<int64_t> &times) {
  times.push_back(b.first);
  for (const Gap &g : b.gaps) {
    times.push_back(g.first);
    times.push_back(g.last);
  }
}

/// Use is constant between two changes, so only the changes are compared.
bool shareBytes(const Buffer &x, int64_t offsetX, const Buffer &y,
                int64_t offsetY, int64_t &time) {
  if (offsetX + x.bytes <= offsetY || offsetY + y.bytes <= offsetX ||
      x.last <= y.first || y.last <= x.first)
    return false;
  std::vector<int64_t> times;
  addTimes(x, times);
  addTimes(y, times);
  for (int64_t t : times) {
    Bytes a = used(x, offsetX, t), b = used(y, offsetY, t);
    if (std::max(a.low, b.low) < std::min(a.high, b.high)) {
      time = t;
      return true;
    }
  }
  return false;
}

/// Most bytes in use at one time, which is when some buffer's use grows.
int64_t mostInUse(const Problem &problem) {
  struct Change {
    int64_t time, delta;
  };
  std::vector<Change> changes;
  for (const Buffer &b : problem.buffers) {
    std::vector<int64_t> times = {b.last};
    addTimes(b, times);
    std::sort(times.begin(), times.end());
    int64_t before = 0;
    for (int64_t t : times) {
      Bytes now = used(b, 0, t);
      changes.push_back({t, now.high - now.low - before});
      before = now.high - now.low;
    }
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change &x, const Change &y) {
              return x.time != y.time ? x.time < y.time : x.delta < y.delta;
            });
  int64_t live = 0, most = 0;
  for (const Change &c : changes)
    most = std::max(most, live += c.delta);
  return most;
}

} // namespace

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
  for (size_t i = 0; i < buffers.size(); ++i) {
    int64_t offset = plan.offsets[i], bytes = buffers[i].bytes;
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
    if (buffers[i].offset && *buffers[i].offset != offset)
      return Error{
          at + " is fixed at offset " + std::to_string(*buffers[i].offset), ""};
    verdict.highestByte = std::max(verdict.highestByte, offset + bytes);
    verdict.hints += buffers[i].hint >= 0;
    verdict.hintsMet += buffers[i].hint == offset;
  }
  // Every pair, except those where one is born after the other's death.
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t x, size_t y) {
    return buffers[x].first < buffers[y].first;
  });
  for (size_t i = 0; i < order.size(); ++i)
    for (size_t j = i + 1; j < order.size(); ++j) {
      const Buffer &x = buffers[order[i]], &y = buffers[order[j]];
      if (y.first >= x.last)
        break;
      int64_t offsetX = plan.offsets[order[i]],
              offsetY = plan.offsets[order[j]], time = 0;
      if (shareBytes(x, offsetX, y, offsetY, time))
        return Error{"buffers '" + x.name + "' and '" + y.name +
                         "' share bytes at time " + std::to_string(time) +
                         " (offsets " + std::to_string(offsetX) + " and " +
                         std::to_string(offsetY) + ")",
                     ""};
    }
  verdict.lowerBoundBytes = mostInUse(problem);
  return verdict;
}

} // namespace act::plan
