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
// Nodes are numbered from 0, in an order in which they can be computed: an edge
// goes from a smaller number to a larger one, so there is no cycle. An edge
// that is there twice counts once. Empty lines count for nothing.
#ifndef ACT_REMAT_TEXTFORMAT_H
#define ACT_REMAT_TEXTFORMAT_H
#include "act/Remat/Graph.h"
#include <string>
#include <string_view>

namespace act::remat {

/// Errors carry `name:line`.
Result<Graph> readText(std::string_view text,
                       const std::string &name = "graph");
/// Nodes that are pinned, views or have a workspace do not fit the format.
Result<std::string> writeText(const Graph &graph);

} // namespace act::remat
#endif
