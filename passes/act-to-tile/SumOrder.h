// SPDX-License-Identifier: Apache-2.0
//
// What the bits of a kernel's sums depend on.
//
// A sum of products goes along k in the order of k, so how it is cut does not
// matter: each product is added to the sum so far. (f32 adds 32 products at a
// time, and a product that nothing depends on keeps steps of 32.) Three things
// do matter:
//
//   step          attention's keys at a time: each block of keys scales the sum
//                 so far by the maximum that it finds
//   columnWarps   a row that several warps share is summed by each, and then
//                 across them
//   rows          of a block that is added to memory in turns: it is summed
//                 first
//
// All are chosen from the products themselves: shapes, types, what is between
// two of them (a mask, dropout), and the target. What comes before or after
// them in a group is not looked at.
#ifndef ACT_PASSES_ACTTOTILE_SUMORDER_H
#define ACT_PASSES_ACTTOTILE_SUMORDER_H
#include "passes/act-to-tile/Behind.h"
#include "passes/act-to-tile/KernelGrid.h"
#include "passes/act-to-tile/PlanInputs.h"

namespace act::tile {

struct SumOrder {
  int64_t step = 0;
  int64_t columnWarps = 1;
  int64_t rows = 0; // 0: any

  bool operator==(const SumOrder &o) const {
    return step == o.step && columnWarps == o.columnWarps && rows == o.rows;
  }

  /// Whether `grid` has this order; `rows` are its dimension of rows.
  bool isOf(const KernelGrid &grid, int rows) const;
};

/// The order of products that depend on each other, such as those of attention,
/// and grids that have it, for nothing but them: the fastest first, the last
/// one fits in shared memory, if any does. `grid` has the largest blocks, and
/// whether warps may work in groups; `product` is the root's.
struct PlanAlone {
  SumOrder order;
  llvm::SmallVector<KernelGrid> grids;
};
PlanAlone planAlone(KernelGrid grid, const ProductShape &product,
                    const KernelResults &results, const PlanOptions &options);

/// Whether a program of `results` does no more than their products: then the
/// plan for these is its own.
bool isAlone(const KernelResults &results);

/// How far the blocks of a kernel are limited so that it fits, from the fastest
/// to the smallest.
struct BlockLimit {
  int64_t rows, step, stages, warps;
};
llvm::ArrayRef<BlockLimit> blockLimits();

/// The longest sum of the products.
int64_t longestSum(mlir::ValueRange products);

/// KernelGrid::unit of a kernel with this product.
int64_t unitOf(const KernelGrid &grid, const ProductShape &product);

} // namespace act::tile
#endif
