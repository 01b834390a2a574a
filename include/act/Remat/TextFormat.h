// SPDX-License-Identifier: Apache-2.0
//
// Graphs as text, whole decimal numbers in lines:
//
//   4 4          nodes edges
//   4 10         per node: bytes cost
//   1 10
//   1 10
//   1 10
//   0 1          per edge: from to
//   1 2
//   2 3
//   0 3
//
// Nodes are numbered from 0 in topological order: an edge goes from a smaller
// number to a larger one, so there is no cycle. Duplicate edges count once.
// Empty lines are ignored.
#ifndef ACT_REMAT_TEXTFORMAT_H
#define ACT_REMAT_TEXTFORMAT_H
#include "act/Remat/Graph.h"
#include <string>
#include <string_view>

namespace act::remat {

/// Errors carry `name:line`.
Result<Graph> readText(std::string_view text,
                       const std::string &name = "graph");
/// Fails for nodes that are pinned, are views or have a workspace: the format
/// cannot express them.
Result<std::string> writeText(const Graph &graph);

} // namespace act::remat
#endif
