// SPDX-License-Identifier: Apache-2.0
//
// The rules of a graph. The sums are tested by subtraction, because the numbers
// come from files and could overflow.
#include "act/Remat/Graph.h"
#include <algorithm>

namespace act::remat {
namespace {

constexpr int64_t limit = int64_t{1} << 62;

Error wrong(int32_t node, const std::string &message) {
  return Error{message, "node " + std::to_string(node)};
}

Status checkNode(const Graph &graph, int32_t i) {
  const Node &n = graph.nodes[i];
  if (n.bytes < 0 || n.cost < 0 || n.workspace < 0)
    return wrong(i, "expected bytes, cost and workspace from 0, found " +
                        std::to_string(n.bytes) + ", " +
                        std::to_string(n.cost) + " and " +
                        std::to_string(n.workspace));
  for (int32_t a : n.inputs)
    if (a < 0 || a >= i)
      return wrong(i, "expected inputs with numbers from 0 to below " +
                          std::to_string(i) + ", found " + std::to_string(a));
  if (n.viewOf < 0)
    return ok();
  if (std::find(n.inputs.begin(), n.inputs.end(), n.viewOf) == n.inputs.end())
    return wrong(i, "is a view of " + std::to_string(n.viewOf) +
                        ", which is not one of its inputs");
  if (n.bytes > 0)
    return wrong(i, "is a view of " + std::to_string(n.viewOf) +
                        ", expected 0 bytes, found " + std::to_string(n.bytes));
  return ok();
}

} // namespace

Status Graph::check() const {
  if (nodes.empty())
    return Error{"expected at least one node, found none", "graph"};
  if (nodes.size() > 1u << 30)
    return Error{"expected at most 2^30 nodes, found " +
                     std::to_string(nodes.size()),
                 "graph"};
  int64_t bytes = 0, cost = 0;
  for (int32_t i = 0; i < size(); ++i) {
    if (auto s = checkNode(*this, i); !s)
      return s;
    const Node &n = nodes[i];
    if (n.bytes >= limit - bytes || n.workspace >= limit - bytes - n.bytes)
      return wrong(i, "expected less than 2^62 bytes in all nodes together");
    if (n.cost >= limit - cost)
      return wrong(i, "expected a cost below 2^62 of all nodes together");
    bytes += n.bytes + n.workspace;
    cost += n.cost;
  }
  return ok();
}

int64_t Graph::totalCost() const {
  int64_t sum = 0;
  for (const Node &n : nodes)
    sum += n.cost;
  return sum;
}

} // namespace act::remat
