// SPDX-License-Identifier: Apache-2.0
//
// Blocks of integers that are sums.
//
// The positions that a mask compares are sums of numbers and of the place in
// the block. With 64 queries from %i on along rows and 80 keys from %j on along
// columns,
//
//     query = %i + row       symbols {%i: 1}   places [1, 0] of 64 x 80
//     key   = %j + column    symbols {%j: 1}   places [0, 1]
//     key - query - 1        symbols {%j: 1, %i: -1}  places [-1, 1]  constant
//     -1
//
// and the last is negative wherever the query may see the key. The largest
// value over the block is at a corner, as every term has an extreme of its own:
// %j - %i + 78; the smallest is %j - %i - 64. So causality holds in the whole
// block as soon as it holds in one corner, and that is a question about %j.
//
// A row of numbers that is no sum, like where each query's sequence begins, is
// a symbol, too; its extremes are reductions.
//
// Sums go through casts and through blocks' changes of shape. Arithmetic in 64
// bits (index and i64) is assumed not to overflow, as it counts elements of
// tensors that fit in memory; in fewer bits it must be proven, by the ranges of
// the symbols, or promised by `nsw`.
#ifndef ACT_PASSES_TILE_AFFINEBLOCKS_H
#define ACT_PASSES_TILE_AFFINEBLOCKS_H

#include "mlir/Analysis/DataFlowFramework.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace act::tile {

/// The ranges of a kernel's integers (upstream's integer range analysis).
mlir::LogicalResult findRanges(mlir::DataFlowSolver &solver,
                               mlir::Operation *kernel);

/// constant + sum of factor * symbol. Symbols are numbers; in a block's form
/// also rows of numbers, which are repeated along its other dimensions.
struct AffineNumber {
  int64_t constant = 0;
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> symbols;

  int64_t factorOf(mlir::Value symbol) const;
  /// this + by * other; nothing if a factor does not fit in 64 bits.
  std::optional<AffineNumber> plus(const AffineNumber &other, int64_t by) const;
  std::optional<AffineNumber> plus(int64_t number) const;
  /// this without its term in `symbol`.
  AffineNumber without(mlir::Value symbol) const;
};

/// One more term for each dimension: places[d] * (the place along d). A number
/// is a block without dimensions.
struct AffineBlock {
  AffineNumber number;
  llvm::SmallVector<int64_t> places, shape;

  /// The smallest and the largest element, as numbers.
  std::optional<std::pair<AffineNumber, AffineNumber>> extremes() const;
};

class AffineBlocks {
public:
  explicit AffineBlocks(mlir::DataFlowSolver &ranges) : ranges(ranges) {}

  /// `v` as a sum, or nothing. What is no sum itself is a symbol if it is a
  /// number or has one dimension; another block that is no sum has no form.
  std::optional<AffineBlock> of(mlir::Value v);
  /// x - y.
  std::optional<AffineBlock> difference(mlir::Value x, mlir::Value y);
  /// `n` with the smallest or the largest element of each row among its
  /// symbols, so that it is at most, or at least, what `n` is in any place.
  AffineNumber extreme(const AffineNumber &n, bool largest);
  /// The smallest and the largest number that a scalar may be.
  std::pair<int64_t, int64_t> rangeOf(mlir::Value symbol);
  /// The same of all elements.
  std::optional<std::pair<int64_t, int64_t>> rangeOf(const AffineBlock &block);
  /// Whether no element is negative when read as a signed number.
  bool isNonNegative(const AffineBlock &block);
  /// A number that `n` surely does not exceed. Minima, maxima and quotients
  /// among the symbols are bounded by what they are made of: x - (x / 8) * 8 is
  /// at most 7.
  std::optional<int64_t> upperBound(const AffineNumber &n);

private:
  std::optional<AffineBlock> compute(mlir::Value v);
  /// `block`, which an op made as its result `v`, if it did not wrap around.
  std::optional<AffineBlock> unwrapped(AffineBlock block, mlir::Value v);
  std::optional<int64_t> upperBound(const AffineNumber &n, int depth);

  mlir::DataFlowSolver &ranges;
  llvm::DenseMap<mlir::Value, std::optional<AffineBlock>> known;
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, mlir::Value> extremes;
};

/// `n` as an index, from ops at the builder's place.
mlir::Value materialize(const AffineNumber &n, mlir::OpBuilder &b,
                        mlir::Location loc);

} // namespace act::tile
#endif
