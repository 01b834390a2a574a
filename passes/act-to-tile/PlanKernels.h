// SPDX-License-Identifier: Apache-2.0
//
// The two kinds of kernels that PlanGrid.cpp chooses grids for.
#ifndef ACT_PASSES_ACTTOTILE_PLANKERNELS_H
#define ACT_PASSES_ACTTOTILE_PLANKERNELS_H
#include "passes/act-to-tile/Behind.h"
#include "passes/act-to-tile/KernelGrid.h"
#include "passes/act-to-tile/PlanInputs.h"
#include <random>

namespace act::tile {

/// Draws for one kernel; false if nothing is drawn.
class Dice {
public:
  Dice() = default;
  Dice(uint64_t seed) : engine(seed), isThrown(true) {}
  explicit operator bool() const { return isThrown; }
  /// From 0 to `count` - 1.
  int64_t operator()(int64_t count) { return engine() % uint64_t(count); }

private:
  std::mt19937_64 engine;
  bool isThrown = false;
};

/// Completes `grid`, which has its root, for a kernel with the product `p`.
KernelGrid planProduct(KernelGrid grid, const ProductShape &p,
                       const KernelResults &results, const PlanOptions &options,
                       Dice &dice);
/// The same for a kernel of rows, without products.
KernelGrid planRows(KernelGrid grid, const KernelResults &results, Dice &dice);

} // namespace act::tile
#endif
