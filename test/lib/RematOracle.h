// SPDX-License-Identifier: Apache-2.0
//
// What the best schedule costs, by trying them all: a table over everything
// that can be in memory at every point of every stage. For graphs of about ten
// nodes.
#ifndef ACT_TEST_LIB_REMATORACLE_H
#define ACT_TEST_LIB_REMATORACLE_H
#include "act/Remat/Graph.h"
#include <algorithm>
#include <random>

namespace act::remat::test {

constexpr int64_t never = INT64_MAX;

/// The least extra cost under the budget; `never` if nothing is under it.
inline int64_t leastCost(const Graph &graph, int64_t budget) {
  const int32_t n = graph.size();
  const uint32_t sets = 1u << n;
  std::vector<uint32_t> inputs(n);
  for (int32_t i = 0; i < n; ++i)
    for (int32_t a : graph.nodes[i].inputs) {
      while (graph.nodes[a].viewOf >= 0)
        a = graph.nodes[a].viewOf;
      inputs[i] |= 1u << a;
    }
  std::vector<int64_t> bytes(sets, 0);
  for (uint32_t set = 1; set < sets; ++set)
    for (int32_t i = 0; i < n; ++i)
      bytes[set] += set >> i & 1 ? graph.nodes[i].bytes : 0;
  std::vector<int64_t> cost(sets, never);
  cost[0] = 0;
  for (int32_t stage = 0; stage < n; ++stage)
    for (int32_t i = 0; i <= stage; ++i) {
      const Node &node = graph.nodes[i];
      // Anything may be dropped at any time.
      for (uint32_t set = sets; set-- > 0;)
        for (int32_t a = 0; a < n; ++a)
          if (set >> a & 1)
            cost[set & ~(1u << a)] =
                std::min(cost[set & ~(1u << a)], cost[set]);
      // Compute i, or not; the stage's own node must be.
      std::vector<int64_t> next(sets, never);
      for (uint32_t set = 0; set < sets; ++set) {
        if (cost[set] == never)
          continue;
        if (i < stage)
          next[set] = std::min(next[set], cost[set]);
        const uint32_t with = set | 1u << i;
        if ((set & inputs[i]) != inputs[i] || (i < stage && node.pinned) ||
            bytes[with] + node.workspace > budget)
          continue;
        next[with] =
            std::min(next[with], cost[set] + (i < stage ? node.cost : 0));
      }
      cost = next;
    }
  return *std::min_element(cost.begin(), cost.end());
}

struct RandomGraphs {
  std::minstd_rand random{1};
  int32_t below(int32_t n) { return static_cast<int32_t>(random() % n); }

  /// Any shape; with `special`, also views, pinned nodes and workspaces.
  Graph any(int32_t nodes, bool special) {
    Graph graph;
    for (int32_t i = 0; i < nodes; ++i) {
      Node n;
      n.bytes = below(4) ? 1 + below(9) : below(2);
      n.cost = below(5) ? 1 + below(9) : 0;
      for (int32_t a = 0; a < i; ++a)
        if (below(i) < 2)
          n.inputs.push_back(a);
      if (special) {
        n.pinned = below(6) == 0;
        n.workspace = below(4) ? 0 : below(5);
        if (!n.inputs.empty() && below(6) == 0) {
          n.viewOf = n.inputs[below(static_cast<int32_t>(n.inputs.size()))];
          n.bytes = 0;
        }
      }
      graph.nodes.push_back(n);
    }
    return graph;
  }

  /// A chain and its way back, as of a training step.
  Graph training(int32_t layers) {
    Graph graph;
    for (int32_t i = 0; i < 2 * layers; ++i) {
      Node n;
      n.bytes = 1 + below(9);
      n.cost = 1 + below(9);
      if (i > 0)
        n.inputs.push_back(i - 1);
      if (i >= layers && 2 * layers - 1 - i < i - 1)
        n.inputs.insert(n.inputs.begin(), 2 * layers - 1 - i);
      graph.nodes.push_back(n);
    }
    return graph;
  }
};

} // namespace act::remat::test
#endif
