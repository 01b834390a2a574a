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

/// What a kernel of products holds besides its blocks.
struct ProductFacts {
  int64_t products = 0; // sums of products, block by block
  int64_t kept = 0;     // of these, the results
  int64_t read = 0;     // tensors as large as they are that are read
  bool draws = false, windowed = false;
  bool compares = false; // positions, as a causal mask does
  bool operator==(const ProductFacts &o) const {
    return std::tie(products, kept, read, draws, windowed, compares) ==
           std::tie(o.products, o.kept, o.read, o.draws, o.windowed,
                    o.compares);
  }
};
ProductFacts factsOf(mlir::ValueRange results);

/// Whether threads have registers for their part of the blocks of `grid`, which
/// is in groups, where `added` products are added to memory. What a thread
/// holds is half of a row of each sum that is kept, and
///
/// - half of a row of scores, and the scores once more, rounded, if the next
///   product reads them under the next scores (`rotated`), or else half of
///   them;
/// - or, where a product is added to memory, half of a row of two products,
///   the first one rounded as well, and then its part of that product: rows of
///   steps and the same columns.
///
/// `operands` are registers for operands that stay in them.
bool haveRegisters(const KernelGrid &grid, const ProductShape &product,
                   const ProductFacts &facts, int64_t added,
                   int64_t operands = 0);

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
