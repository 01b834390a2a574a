// SPDX-License-Identifier: Apache-2.0
//
// A graph in the solver's form: no views (their users use the viewed tensor),
// users as well as inputs, and how late a node can be useful.
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
  /// The last first computation before which having the tensor can help. It may
  /// be later than lastUser, as users may be recomputed.
  std::vector<int32_t> horizon;
  int64_t totalCost = 0;
  /// All costs are multiples of costStep, all bytes multiples of byteStep (1 if
  /// all are zero).
  int64_t costStep = 1, byteStep = 1;
};

} // namespace act::remat
#endif
