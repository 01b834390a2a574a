// SPDX-License-Identifier: Apache-2.0
//
// Fills in what follows from the rest of a report, and checks that its figures
// agree: sums of buffers with live bytes, formulas with bytes, edges with
// nodes.
#include "act/Report/MemoryReport.h"
#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

namespace act::report {

const char *name(Category category) {
  static const char *const names[categoryCount] = {
      "saved", "gradient", "temporary", "workspace", "input", "output"};
  return names[size_t(category)];
}

const char *name(Phase phase) {
  static const char *const names[] = {"forward", "backward", "update"};
  return names[size_t(phase)];
}

namespace {

Error mismatch(const std::string &field, int64_t expected, int64_t actual) {
  return Error{field + " is " + std::to_string(actual) + ", expected " +
                   std::to_string(expected),
               ""};
}

Status checkLifetimes(const MemoryReport &r) {
  int64_t points = int64_t(r.timeline.size());
  for (const Buffer &b : r.buffers)
    if (b.first < 0 || b.first >= b.last || b.last > points || b.bytes < 0)
      return Error{"buffer '" + b.name + "' of " + std::to_string(b.bytes) +
                       " bytes is alive in [" + std::to_string(b.first) + ", " +
                       std::to_string(b.last) + "), the timeline has " +
                       std::to_string(points) + " points",
                   ""};
  return ok();
}

/// Bytes of each category at each point, from the buffers alone.
std::vector<CategoryBytes> categoriesOverTime(const MemoryReport &r) {
  std::vector<CategoryBytes> sums(r.timeline.size() + 1);
  for (const Buffer &b : r.buffers) {
    sums[b.first][size_t(b.category)] += b.bytes;
    sums[b.last][size_t(b.category)] -= b.bytes;
  }
  for (size_t t = 1; t < sums.size(); ++t)
    for (size_t c = 0; c < categoryCount; ++c)
      sums[t][c] += sums[t - 1][c];
  sums.pop_back();
  return sums;
}

int64_t total(const CategoryBytes &bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), int64_t(0));
}

Status checkFormula(const std::string &field, const Formula &formula,
                    const symbolic::Letters &letters, int64_t expected) {
  if (!formula.known)
    return ok();
  auto value = formula.bytes.evaluate(letters);
  if (!value)
    return Error{field + ": " + value.error().message, ""};
  if (*value + formula.alignmentBytes != expected)
    return mismatch("formula of " + field, expected,
                    *value + formula.alignmentBytes);
  return ok();
}

Status checkGraph(const LayerGraph &graph) {
  std::set<std::string> ids;
  for (const GraphNode &n : graph.nodes)
    if (!ids.insert(n.id).second)
      return Error{"graph '" + graph.name + "' has two nodes '" + n.id + "'",
                   ""};
  for (const GraphEdge &e : graph.edges)
    for (const std::string &end : {e.from, e.to})
      if (!ids.count(end))
        return Error{"edge '" + e.label + "' of graph '" + graph.name +
                         "' ends at unknown node '" + end + "'",
                     ""};
  return ok();
}

/// Each curve has one value per point, and its maximum is the peak.
Status checkReplay(const MemoryReport &r, const AllocatorReplay &a) {
  const size_t points = r.timeline.size();
  if (a.allocated.size() != points || a.reserved.size() != points)
    return mismatch("points of the allocator's curve", int64_t(points),
                    int64_t(a.allocated.size()));
  if (points == 0)
    return ok();
  for (auto [field, curve, peak, at] :
       {std::tuple("allocated_peak_bytes", &a.allocated, a.allocatedPeakBytes,
                   a.allocatedPeakAt),
        std::tuple("reserved_peak_bytes", &a.reserved, a.reservedPeakBytes,
                   a.reservedPeakAt)}) {
    if (at < 0 || at >= int64_t(points))
      return mismatch(std::string("point of ") + field, int64_t(points) - 1,
                      at);
    int64_t highest = *std::max_element(curve->begin(), curve->end());
    if (highest != peak || (*curve)[at] != peak)
      return mismatch(field, highest, peak);
  }
  for (size_t t = 0; t < points; ++t)
    if (a.allocated[t] > a.reserved[t])
      return Error{
          "more is allocated than reserved at point " + std::to_string(t), ""};
  if (a.exceeded &&
      (a.exceeded->index < -1 || a.exceeded->index >= int64_t(points)))
    return mismatch("point at which the card is exceeded", int64_t(points) - 1,
                    a.exceeded->index);
  return ok();
}

} // namespace

Status complete(MemoryReport &r) {
  if (Status s = checkLifetimes(r); !s)
    return s;
  if (!r.buffers.empty()) {
    auto sums = categoriesOverTime(r);
    for (size_t t = 0; t < r.timeline.size(); ++t) {
      r.timeline[t].categories = sums[t];
      if (r.timeline[t].liveBytes == 0)
        r.timeline[t].liveBytes = total(sums[t]);
    }
  }
  // The first of equal points, which is what max_element returns.
  auto highest =
      std::max_element(r.timeline.begin(), r.timeline.end(),
                       [](const TimelinePoint &x, const TimelinePoint &y) {
                         return x.liveBytes < y.liveBytes;
                       });
  if (highest == r.timeline.end())
    return ok();
  r.peakAt.index = highest - r.timeline.begin();
  r.peakAt.alive.clear();
  for (const Buffer &b : r.buffers)
    if (b.first <= r.peakAt.index && r.peakAt.index < b.last)
      r.peakAt.alive.push_back(b);
  std::sort(r.peakAt.alive.begin(), r.peakAt.alive.end(),
            [](const Buffer &x, const Buffer &y) {
              return std::tie(y.bytes, x.first, x.name) <
                     std::tie(x.bytes, y.first, y.name);
            });
  return ok();
}

/// Each figure of a report is computed in one place only. Here every one that
/// can be derived from others is derived again and compared.
Status check(const MemoryReport &r) {
  if (Status s = checkLifetimes(r); !s)
    return s;
  int64_t highest = 0;
  auto sums = categoriesOverTime(r);
  for (size_t t = 0; t < r.timeline.size(); ++t) {
    highest = std::max(highest, r.timeline[t].liveBytes);
    if (!r.buffers.empty() && total(sums[t]) != r.timeline[t].liveBytes)
      return mismatch("live_bytes of point " + std::to_string(t) + " (" +
                          r.timeline[t].op + ")",
                      total(sums[t]), r.timeline[t].liveBytes);
  }
  if (!r.timeline.empty() && highest != r.peakBytes)
    return mismatch("peak_bytes", highest, r.peakBytes);
  if (r.peakAt.index >= int64_t(r.timeline.size()))
    return mismatch("peak index", int64_t(r.timeline.size()) - 1,
                    r.peakAt.index);
  int64_t kept = 0;
  for (const SavedValue &v : r.saved)
    kept += v.bytes;
  if (!r.saved.empty() && kept != r.retainedBytes)
    return mismatch("retained_bytes", kept, r.retainedBytes);
  if (Status s = checkFormula("retained_bytes", r.retained, r.letters,
                              r.retainedBytes);
      !s)
    return s;
  if (Status s = checkFormula("peak_bytes", r.peak, r.letters, r.peakBytes); !s)
    return s;
  for (const Layer &l : r.layers)
    if (Status s = checkFormula("layer " + std::to_string(l.index), l.retained,
                                r.letters, l.retainedBytes);
        !s)
      return s;
  for (const LayerGraph &g : r.graphs)
    if (Status s = checkGraph(g); !s)
      return s;
  if (r.replay)
    return checkReplay(r, *r.replay);
  return ok();
}

} // namespace act::report
