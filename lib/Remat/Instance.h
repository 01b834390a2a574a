// SPDX-License-Identifier: Apache-2.0
//
// A graph as the solver wants it: no views (what uses one uses what it looks
// at), users beside inputs, and how late a node can be of use.
#ifndef ACT_LIB_REMAT_INSTANCE_H
#define ACT_LIB_REMAT_INSTANCE_H
#include "act/Remat/Graph.h"

namespace act::remat {

struct Instance {
  explicit Instance(const Graph &graph);

  int32_t size = 0;
  std::vector<int64_t> bytes, cost, workspace;
  std::vector<char> fixed; // computed once: pinned, or a view
  std::vector<std::vector<int32_t>> inputs, users; // ascending
  /// The last node that uses it, itself if none does.
  std::vector<int32_t> lastUser;
  /// The last first computation before which having the tensor can help: a user
  /// may itself be computed again.
  std::vector<int32_t> horizon;
  int64_t totalCost = 0;
  /// All costs are multiples of it, all bytes of the other (1 if all are zero).
  int64_t costStep = 1, byteStep = 1;
};

} // namespace act::remat
#endif
