// SPDX-License-Identifier: Apache-2.0
//
// Two loops over the same numbers as one.
//
//     for j: m = max(m, x[j])                 A
//     for j: l = l + exp(x[j] - m)            B, which needs A's result
//
// Nothing is in B's way but m, which is not known before A is done. But m is in
// each of B's terms only as a factor, exp(-m), so a sum made with another m can
// be corrected:
//
//     for j: m' = max(m, x[j])
//            l' = l * exp(m - m') + exp(x[j] - m')
//
// which is the recurrence of online softmax (Milakov, Gimelshein 2018,
// arXiv:1805.02867). What is done here is to find such factors: the terms that
// a loop adds up are read as
//
//     term = F(results of A) * (what does not depend on A)
//
// and F is a product of
//
//     exp(k b)   stays in the term, and the sum so far is multiplied by
//                exp(k (b' - b)) when b becomes b'
//     y or 1/y   leaves the loop, and the sum is multiplied once, at the end
//
// Nothing here knows a softmax: sums of blocks, dots, several sums at once and
// chains of loops are cases of the same rule.
//
// What is exact for real numbers can overflow in floating point: with b = 0
// for a while and -200 at the end, terms are multiplied by exp(200) at last.
// So a factor exp(-b) is taken only where b is at every moment an upper bound
// of the exponent's other part, up to a constant: where A's result is the
// running maximum of that very value (`bounded`). Then all terms and
// corrections are at most 1.
//
// A ragged edge is hidden by selects: the maximum is of c ? x : -inf, the sum
// of c ? exp(x - m) : 0. What c hides is not bounded and need not be, as long
// as the second select is there.
//
// Rows in which all x are -inf. As long as m is -inf there, the term takes 0
// for m, and is exp(-inf) = 0; the correction takes m as it is, and is
// exp(-inf - m') = 0 when a number turns up, times a sum that is 0. No NaN
// comes up. Selects that do the same in the kernel (m == -inf ? 0 : m) are
// recognised and give way to it. At the end such a row has the sum 0, as it has
// with the select; loops without one would have had NaN.
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

/// How a value's dimensions lie in a block's: dimension i is dimension
/// along[i] of the block; -1 where it has one element, which is repeated.
using Along = llvm::SmallVector<int64_t, 4>;

/// The elements where a block of truth values, computed in the first loop, is
/// `value`.
struct Where {
  mlir::Value condition;
  bool value;
};

/// A part of a block that depends on the first loop's results and on nothing
/// of the second's iterations.
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
  /// What the first loop looked at; elsewhere a term may overflow and has to be
  /// left out before terms are added up.
  llvm::SmallVector<Where, 1> only = {};
  /// A select takes 0 for some terms that have it, so it may be infinite or NaN
  /// where all terms are hidden.
  bool hidden = false;

  bool isExponential() const { return kind == Exp || kind == Exp2; }
  bool operator==(const Factor &o) const {
    return kind == o.kind && row == o.row && along == o.along &&
           scale == o.scale && hidden == o.hidden;
  }
};
using Factors = llvm::SmallVector<Factor>;

/// What loop `b` needs of loop `a`, which stands before it in the same block.
class Dependence {
public:
  Dependence(mlir::scf::ForOp a, mlir::scf::ForOp b);

  /// Finds the factors of all values that b carries; false where there is one
  /// that has none.
  bool analyze();

  mlir::scf::ForOp a, b;
  bool depends(mlir::Value v) const { return dependent.contains(v); }
  bool depends(mlir::Operation *op) const { return dependentOps.contains(op); }
  /// Depends on a's results, and is the same in all iterations of b.
  bool isRow(mlir::Value v) const { return depends(v) && !isInB(v); }
  bool isInB(mlir::Value v) const {
    return b->isAncestor(v.getParentRegion()->getParentOp());
  }
  /// For each value that b carries: its terms' factors if it has to be carried
  /// in another way than by b alone.
  llvm::SmallVector<std::optional<Factors>> carried;

  /// The value behind `select(m is -inf, constant, value)`, or null.
  mlir::Value guarded(mlir::Value v) const;
  /// Whether a result of a is a running minimum; none if it is no maximum
  /// either.
  std::optional<bool> isMinimum(unsigned result);
  /// Results of a that stay away from infinities once an iteration is done.
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

/// The number of which a value is made, if it is a constant one.
std::optional<double> constantOf(mlir::Value v);
/// The operand of an op that only repeats elements or adds dimensions of one;
/// `along` of the result becomes that of the operand. Null for others.
mlir::Value behindShape(mlir::Value v, Along &along);

/// Cannot be infinite, unless by an overflow: made of products and finite
/// numbers. What is read from memory may be anything.
bool isFiniteBlock(mlir::Value v);

/// Writes the one loop in the place of both, which are erased. `d` was
/// analyzed.
mlir::scf::ForOp fuse(Dependence &d);

} // namespace act::tile
#endif
