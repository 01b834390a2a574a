// SPDX-License-Identifier: Apache-2.0
//
// Runs a schedule by the rules of Graph.h and adds up what is alive. Views are
// resolved here, not by the solver's Instance, so that a mistake there shows.
#include "act/Remat/Evaluator.h"

namespace act::remat {
namespace {

Error wrong(size_t step, const std::string &message) {
  return Error{message, "step " + std::to_string(step)};
}

} // namespace

Result<Measured> evaluate(const Graph &graph,
                          const std::vector<int32_t> &steps) {
  if (auto s = graph.check(); !s)
    return s.error();
  const int32_t n = graph.size();
  int32_t seen = 0;
  std::vector<int64_t> madeAt(n, -1);         // the latest computation
  std::vector<int64_t> lastUse(steps.size()); // of what step s made
  Measured m;
  for (size_t s = 0; s < steps.size(); ++s) {
    int32_t v = steps[s];
    if (v < 0 || v > seen || v >= n)
      return wrong(s, "expected a node from 0 to " + std::to_string(seen) +
                          ", found " + std::to_string(v));
    if (v < seen && graph.nodes[v].pinned)
      return wrong(s,
                   "computes the pinned node " + std::to_string(v) + " again");
    for (int32_t a : graph.nodes[v].inputs) {
      while (graph.nodes[a].viewOf >= 0)
        a = graph.nodes[a].viewOf;
      lastUse[madeAt[a]] = static_cast<int64_t>(s);
    }
    if (v < seen &&
        __builtin_add_overflow(m.extraCost, graph.nodes[v].cost, &m.extraCost))
      return wrong(s, "expected an extra cost below 2^63 up to here");
    seen += v == seen;
    madeAt[v] = lastUse[s] = static_cast<int64_t>(s);
  }
  if (seen < n)
    return wrong(steps.size(),
                 "node " + std::to_string(seen) + " is never computed");

  std::vector<int64_t> freed(steps.size() + 1, 0);
  int64_t live = 0;
  for (size_t s = 0; s < steps.size(); ++s) {
    // The result is alive from this step on; what was used last in the step
    // before has left. Inputs and result of a step are thus counted together.
    const Node &node = graph.nodes[steps[s]];
    live += node.bytes - freed[s];
    freed[lastUse[s] + 1] += node.bytes;
    if (live + node.workspace > m.peakBytes) {
      m.peakBytes = live + node.workspace;
      m.peakStep = static_cast<int64_t>(s);
    }
  }
  if (int64_t total = graph.totalCost())
    m.extraPercent =
        100.0 * static_cast<double>(m.extraCost) / static_cast<double>(total);
  return m;
}

std::vector<int32_t> withoutRecomputation(const Graph &graph) {
  std::vector<int32_t> steps;
  for (int32_t i = 0; i < graph.size(); ++i)
    steps.push_back(i);
  return steps;
}

} // namespace act::remat
