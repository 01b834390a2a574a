// SPDX-License-Identifier: Apache-2.0
//
// Fuses two loops over the same numbers.
//
//     for j: m = max(m, x[j])                 A
//     for j: l = l + exp(x[j] - m)            B, which needs A's result
//
// Only m stands between B and fusion: it is unknown until A is done. But each
// of B's terms has m only as a factor, exp(-m), so a sum made with another m
// can be corrected:
//
//     for j: m' = max(m, x[j])
//            l' = l * exp(m - m') + exp(x[j] - m')
//
// This is the recurrence of online softmax (Milakov, Gimelshein 2018,
// arXiv:1805.02867). The analysis finds such factors. It reads the terms that a
// loop adds up as
//
//     term = F(results of A) * (what does not depend on A)
//
// and F is a product of
//
//     exp(k b)   stays in the term, and the sum so far is multiplied by
//                exp(k (b' - b)) when b becomes b'
//     y or 1/y   leaves the loop, and the sum is multiplied once, at the end
//
// The rule is not specific to softmax: sums of blocks, dots, several sums at
// once and chains of loops are all cases of it.
//
// What is exact for real numbers can overflow in floating point: if b is 0 for
// a while and -200 at the end, terms are multiplied by exp(200). So a factor
// exp(-b) is taken only where b always bounds the rest of the exponent from
// above, up to a constant: where A's result is the running maximum of that very
// value (`bounded`). Then all terms and corrections are at most 1.
//
// Selects hide a ragged edge: the maximum is of c ? x : -inf, the sum of c ?
// exp(x - m) : 0. Values hidden by c are not bounded and need not be, as long
// as the second select is there.
//
// Rows in which all x are -inf: while m is -inf, the term uses 0 for m and is
// exp(-inf) = 0. The correction uses m itself; when a finite number arrives it
// is exp(-inf - m') = 0, times a sum that is 0. No NaN appears. Selects in the
// kernel that do the same (m == -inf ? 0 : m) are recognised and replaced. At
// the end such a row has the sum 0, as with the select; loops without one would
// have had NaN.
#ifndef ACT_PASSES_TILE_FUSELOOPS_H
#define ACT_PASSES_TILE_FUSELOOPS_H

#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include <optional>

namespace act::tile {

/// Whether two computations give the same value: in iteration i of loop `a`,
/// and in iteration i of loop `b`, where those are given.
class SameValue {
public:
  SameValue() = default;
  SameValue(mlir::scf::ForOp a, mlir::scf::ForOp b) : a(a), b(b) {
    pairs[a.getInductionVar()] = b.getInductionVar();
  }
  bool operator()(mlir::Value inA, mlir::Value inB);

private:
  mlir::scf::ForOp a, b;
  llvm::DenseMap<mlir::Value, mlir::Value> pairs;
};

/// Maps a value's dimensions to a block's: dimension i is the block's along[i];
/// -1 where it has one element, which is repeated.
using Along = llvm::SmallVector<int64_t, 4>;

/// The elements where a boolean block of the first loop is `value`.
struct Where {
  mlir::Value condition;
  bool value;
};

/// A part of a block that depends on the first loop's results but not on the
/// second's iterations.
struct Factor {
  enum Kind {
    Exp,   ///< exp(scale * row)
    Exp2,  ///< 2 to the power scale * row
    Times, ///< row
    Over   ///< 1 / row
  };
  Kind kind;
  mlir::Value row;
  Along along;
  double scale = 1;
  mlir::arith::FastMathFlags flags = mlir::arith::FastMathFlags::none;
  /// The elements the first loop looked at. Elsewhere a term may overflow and
  /// must be masked before the sum.
  llvm::SmallVector<Where, 1> only = {};
  /// A select replaces some terms with this factor by 0, so it may be infinite
  /// or NaN where all terms are hidden.
  bool hidden = false;

  bool isExponential() const { return kind == Exp || kind == Exp2; }
  bool operator==(const Factor &o) const {
    return kind == o.kind && row == o.row && along == o.along &&
           scale == o.scale && hidden == o.hidden;
  }
};
using Factors = llvm::SmallVector<Factor>;

/// How loop `b` depends on loop `a`, which precedes it in the same block.
class Dependence {
public:
  Dependence(mlir::scf::ForOp a, mlir::scf::ForOp b);

  /// Finds the factors of all values that b carries; false if one of them has
  /// none.
  bool analyze();

  mlir::scf::ForOp a, b;
  bool depends(mlir::Value v) const { return dependent.contains(v); }
  bool depends(mlir::Operation *op) const { return dependentOps.contains(op); }
  /// Depends on a's results, and is the same in all iterations of b.
  bool isRow(mlir::Value v) const { return depends(v) && !isInB(v); }
  bool isInB(mlir::Value v) const {
    return b->isAncestor(v.getParentRegion()->getParentOp());
  }
  /// For each value that b carries: its terms' factors, if fusion must correct
  /// it.
  llvm::SmallVector<std::optional<Factors>> carried;

  /// The value behind `select(m is -inf, constant, value)`, or null.
  mlir::Value guarded(mlir::Value v) const;
  /// Whether a result of a is a running minimum; nothing if it is no maximum
  /// either.
  std::optional<bool> isMinimum(unsigned result);
  /// Results of a that are finite after any iteration.
  bool isFinite(unsigned result);

private:
  std::optional<Factors> carriedFactors(unsigned k);
  std::optional<Factors> factorsOf(mlir::Value v);
  std::optional<Factors> computeFactors(mlir::Value v);
  std::optional<Factors> exponential(mlir::Operation *op, Factor::Kind kind);
  std::optional<Factors> product(mlir::Value x, mlir::Value y);
  std::optional<Factors> dot(DotOp op);
  std::optional<Factors> finiteFactorsOf(mlir::Value v);

  struct Exponent;
  bool split(mlir::Value v, double scale, Along along, Exponent &out);
  bool hasLogarithm(mlir::Value v) const;
  /// A result of a: the running maximum, or minimum, of a value.
  struct Bound {
    unsigned result;
    bool minimum;
    llvm::SmallVector<Where, 1> only;
  };
  std::optional<Bound> bounded(mlir::Value x, double scaleX, mlir::Value row,
                               double scaleRow, Along along);
  std::optional<llvm::SmallVector<Where, 1>>
  isRunningMaximumOf(unsigned result, bool minimum, mlir::Value x,
                     llvm::ArrayRef<int64_t> along);
  std::optional<Factors> selected(mlir::Value condition, bool value,
                                  mlir::Value kept);
  bool isGuardOf(mlir::Value guard, Bound bound);
  bool canBeRepeated(mlir::Value row) const;
  std::optional<llvm::SmallVector<mlir::Value>> runningOf(unsigned result,
                                                          bool minimum);

  SameValue same;
  llvm::DenseSet<mlir::Value> dependent;
  llvm::DenseSet<mlir::Operation *> dependentOps;
  llvm::DenseMap<mlir::Value, std::optional<Factors>> known;
};

/// The constant that fills a value, if there is one.
std::optional<double> constantOf(mlir::Value v);
/// The operand of an op that only repeats elements or adds dimensions of size
/// one; remaps `along` from the result to the operand. Null for others.
mlir::Value behindShape(mlir::Value v, Along &along);

/// Cannot be infinite except by overflow: made of products and finite numbers.
/// Values read from memory may be anything.
bool isFiniteBlock(mlir::Value v);

/// Replaces both loops by one and erases them. `d` has been analyzed.
mlir::scf::ForOp fuse(Dependence &d);

} // namespace act::tile
#endif
