// SPDX-License-Identifier: Apache-2.0
//
// Rematerialisation as a problem of its own: nodes that make tensors in a given
// order, and a budget of bytes. A tensor that is not kept until its use has to
// be computed again.
//
//   bytes                            bytes
//     |        ___                     |            budget
//     |      _|   |_                   |- - - - - - - - - - - -
//     |    _|       |_                 |    ____   __   ___
//     |  _|           |_               |  _|    |_|  |_|   |_
//     |_|               |_             |_|                   |_
//     +--------------------- step      +------------------------- step
//       forward    backward              the same, with nodes computed again
//
// Conventions
// - Nodes are numbered in the order of their first computations, backward
//   included; the inputs of a node have smaller numbers.
// - A schedule is a list of nodes, one per step. Every node occurs at least
//   once, first occurrences in the order of the numbers. A second occurrence
//   makes the tensor again and costs again.
// - A tensor lives from the step that computes it to its last use before the
//   same node is computed again. An unused tensor lives in its own step only.
//   Inputs and result of a step are alive together.
// - The bytes of a step are those of the live tensors and the step's own
//   workspace. The maximum is the schedule's peak.
// - A view has no memory of its own: its users use the tensor that it views, so
//   it is never recomputed. Its bytes are zero.
// - A pinned node is computed once, because it reads mutable data or has a side
//   effect.
// - If a tensor has to outlive the last node, add a node at the end to use it.
//
// Example: 0 -> 1 -> 2 -> 3 -> 4 and 0 -> 4, bytes 4 1 3 1 1. The schedule
// 0 1 2 3 4 peaks at 8 in step 2, where 0, 1 and 2 are alive. 0 1 2 3 0 4 peaks
// at 6, in its last step, where 0, 3 and 4 are.
#ifndef ACT_REMAT_GRAPH_H
#define ACT_REMAT_GRAPH_H
#include "act/Result.h"
#include <cstdint>
#include <vector>

namespace act::remat {

struct Node {
  int64_t bytes = 0;
  int64_t cost = 0;      // of one computation, in any unit
  int64_t workspace = 0; // bytes used during its own steps only
  bool pinned = false;
  int32_t viewOf = -1; // one of the inputs, or -1
  std::vector<int32_t> inputs;
};

struct Graph {
  std::vector<Node> nodes;

  int32_t size() const { return static_cast<int32_t>(nodes.size()); }
  /// Fails unless there are nodes, inputs precede their users, nothing is
  /// negative, views are of inputs and have no bytes, and the sums of bytes and
  /// of costs are below 2^62.
  Status check() const;
  /// One computation of every node. Requires check().
  int64_t totalCost() const;
};

} // namespace act::remat
#endif
