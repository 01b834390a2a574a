// SPDX-License-Identifier: Apache-2.0
//
// Integer blocks as affine sums.
//
// The positions that a mask compares are sums of numbers and of the position in
// the block. With 64 queries from %i on along rows and 80 keys from %j on along
// columns,
//
//     query = %i + row     symbols {%i: 1}         places [1, 0] of 64 x 80
//     key   = %j + column  symbols {%j: 1}         places [0, 1]
//     key - query - 1      symbols {%j: 1, %i: -1} places [-1, 1] constant -1
//
// and the last is negative wherever the query may see the key. Extremes over
// the block are at corners, since each term has its own extreme: the largest is
// %j - %i + 78, the smallest %j - %i - 64. So causality holds in the whole
// block as soon as it holds in one corner, which is a question about %j.
//
// A row of numbers that is not affine, such as the start of each query's
// sequence, is also a symbol; its extremes are reductions.
//
// Sums are traced through casts and shape changes. 64-bit arithmetic (index and
// i64) is assumed not to overflow, since it counts elements of tensors that fit
// in memory. In fewer bits, the symbols' ranges must prove it or `nsw` must
// promise it.
#ifndef ACT_PASSES_TILE_AFFINEBLOCKS_H
#define ACT_PASSES_TILE_AFFINEBLOCKS_H

#include "mlir/Analysis/DataFlowFramework.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace act::tile {

/// The ranges of a kernel's integers (upstream's integer range analysis).
mlir::LogicalResult findRanges(mlir::DataFlowSolver &solver,
                               mlir::Operation *kernel);

/// constant + sum of factor * symbol. Symbols are numbers, and in a block's
/// form also rows of numbers, repeated along its other dimensions.
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

/// One more term for each dimension: places[d] * (the position along d). A
/// number is a block without dimensions.
struct AffineBlock {
  AffineNumber number;
  llvm::SmallVector<int64_t> places, shape;

  /// The smallest and the largest element, as numbers.
  std::optional<std::pair<AffineNumber, AffineNumber>> extremes() const;
};

class AffineBlocks {
public:
  explicit AffineBlocks(mlir::DataFlowSolver &ranges) : ranges(ranges) {}

  /// `v` as a sum, or nothing. A value that is no sum is a symbol if it is a
  /// number or has one dimension; other blocks have no form.
  std::optional<AffineBlock> of(mlir::Value v);
  /// x - y.
  std::optional<AffineBlock> difference(mlir::Value x, mlir::Value y);
  /// `n` with each row among its symbols replaced by its smallest or largest
  /// element: a lower or upper bound of `n` at every position.
  AffineNumber extreme(const AffineNumber &n, bool largest);
  /// The range of a scalar.
  std::pair<int64_t, int64_t> rangeOf(mlir::Value symbol);
  /// The range of all elements.
  std::optional<std::pair<int64_t, int64_t>> rangeOf(const AffineBlock &block);
  /// Whether no element is negative when read as a signed number.
  bool isNonNegative(const AffineBlock &block);
  /// A number that `n` certainly does not exceed. Minima, maxima and quotients
  /// among the symbols are bounded by their operands: x - (x / 8) * 8 is at
  /// most 7.
  std::optional<int64_t> upperBound(const AffineNumber &n);

private:
  std::optional<AffineBlock> compute(mlir::Value v);
  /// `block`, the form of an op's result `v`, if the op cannot have wrapped
  /// around.
  std::optional<AffineBlock> unwrapped(AffineBlock block, mlir::Value v);
  std::optional<int64_t> upperBound(const AffineNumber &n, int depth);

  mlir::DataFlowSolver &ranges;
  llvm::DenseMap<mlir::Value, std::optional<AffineBlock>> known;
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, mlir::Value> extremes;
};

/// `n` as an index, built at the builder's position.
mlir::Value materialize(const AffineNumber &n, mlir::OpBuilder &b,
                        mlir::Location loc);

} // namespace act::tile
#endif
