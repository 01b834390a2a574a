// SPDX-License-Identifier: Apache-2.0
//
// Rewrites a graph for the solver. Views disappear: their users are users of
// the tensor itself, through any number of views.
#include "lib/Remat/Instance.h"
#include <algorithm>
#include <numeric>

namespace act::remat {

Instance::Instance(const Graph &graph)
    : size(graph.size()), inputs(size), users(size), lastUser(size),
      horizon(size), totalCost(graph.totalCost()) {
  std::vector<int32_t> root(size);
  costStep = byteStep = 0;
  for (int32_t i = 0; i < size; ++i) {
    const Node &n = graph.nodes[i];
    root[i] = n.viewOf >= 0 ? root[n.viewOf] : i;
    bytes.push_back(n.bytes);
    cost.push_back(n.cost);
    workspace.push_back(n.workspace);
    fixed.push_back(n.pinned || n.viewOf >= 0);
    costStep = std::gcd(costStep, n.cost);
    byteStep = std::gcd(byteStep, std::gcd(n.bytes, n.workspace));
    for (int32_t a : n.inputs)
      inputs[i].push_back(root[a]);
    std::sort(inputs[i].begin(), inputs[i].end());
    inputs[i].erase(std::unique(inputs[i].begin(), inputs[i].end()),
                    inputs[i].end());
    for (int32_t a : inputs[i])
      users[a].push_back(i);
  }
  costStep = std::max<int64_t>(costStep, 1);
  byteStep = std::max<int64_t>(byteStep, 1);
  // From the last node back, so that the users' horizons are known. A user that
  // can be computed again may need the tensor as late as its own horizon; a
  // fixed one only at its own place.
  for (int32_t i = size; i-- > 0;) {
    lastUser[i] = horizon[i] = i;
    for (int32_t u : users[i]) {
      lastUser[i] = u;
      horizon[i] = std::max({horizon[i], u, fixed[u] ? u : horizon[u]});
    }
  }
}

} // namespace act::remat
