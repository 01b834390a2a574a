// SPDX-License-Identifier: Apache-2.0
//
// Which values of a loop's body are equal, under assumptions.
//
// Every value gets a number; equal numbers mean equal values. A constant's
// number is its element's, whatever the shape. An op's number comes from
// folding it by the rules below, else from the op and its operands' numbers:
//
//   x + 0, x - 0, x * 1        x
//   x * 0                      0, if x is surely finite
//   x - x                      0, if x is surely finite
//   -inf - x, -inf + x         -inf, if x is surely finite
//   select(c, x, x)            x
//   reduce add of 0            0;  max, min, and, or of a constant: the same
//   dot(0, y, acc)             acc, if y is surely finite; dot(x, 0, acc) too
//   fma(x, y, z)               as x * y + z
//   scf.if                     the branch that is taken, or what both agree on
//   scf.for                    its inputs, if its iterations do nothing
#ifndef ACT_PASSES_TILE_SPLITMASKEDLOOPSNUMBERING_H
#define ACT_PASSES_TILE_SPLITMASKEDLOOPSNUMBERING_H

#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <map>

namespace act::tile {

class Numbering {
public:
  using Number = unsigned;

  /// Assumptions: that all elements of `v` are this one; that none is -inf.
  void assume(mlir::Value v, mlir::TypedAttr element) {
    numbers[v] = constant(element);
  }
  void assumeFinite(mlir::Value v) { finite[of(v)] = true; }
  /// The value of all elements of `v` then, or null.
  bool isZero(mlir::Value v) { return isZero(of(v)); }
  mlir::TypedAttr constantOf(mlir::Value v) { return entries[of(v)].constant; }
  /// Whether an iteration leaves the carried values unchanged and writes
  /// nothing, given the named truth values. Turns count as nothing: a caller
  /// that drops an iteration must keep the turns of others correct.
  bool proves(mlir::scf::ForOp loop,
              llvm::ArrayRef<std::pair<mlir::Value, bool>> facts);

private:
  struct Entry {
    mlir::TypedAttr constant;      // an element, or null
    mlir::Operation *op = nullptr; // that computes it, or null
    llvm::SmallVector<Number> operands;
  };

  Number of(mlir::Value v);
  Number compute(mlir::Value v);
  std::optional<Number> simplified(mlir::Operation *op,
                                   llvm::ArrayRef<Number> in);
  std::optional<Number> folded(mlir::Operation *op, llvm::ArrayRef<Number> in);
  Number branch(mlir::scf::IfOp op, unsigned result);
  std::optional<Number> sum(mlir::Operation *op, Number x, Number y,
                            bool minus);
  /// Whether the iterations of an inner loop do nothing.
  bool loopDoesNothing(mlir::scf::ForOp loop);
  /// Whether a loop's result is finite if its input is, by induction.
  bool staysFinite(mlir::scf::ForOp loop, unsigned result);
  bool isWithoutEffect(mlir::Block &block);
  bool isWithoutEffect(mlir::Operation &op);

  Number constant(mlir::TypedAttr element);
  Number leaf() {
    entries.push_back({});
    return entries.size() - 1;
  }
  bool isFloat(Number n, llvm::function_ref<bool(const llvm::APFloat &)> test) {
    auto c = llvm::dyn_cast_or_null<mlir::FloatAttr>(entries[n].constant);
    return c && test(c.getValue());
  }
  bool isZero(Number n) {
    if (auto c = llvm::dyn_cast_or_null<mlir::IntegerAttr>(entries[n].constant))
      return c.getValue().isZero();
    return isFloat(n, [](const llvm::APFloat &x) { return x.isZero(); });
  }
  bool isOne(Number n) {
    return isFloat(
        n, [](const llvm::APFloat &x) { return x.isExactlyValue(1.0); });
  }
  bool isMinusInfinity(Number n) {
    return isFloat(n, [](const llvm::APFloat &x) { return x.isNegInfinity(); });
  }
  bool isFinite(Number n);
  bool computesFinite(Number n);
  /// A comparison of a number with -inf; whether true means equal.
  struct Guard {
    Number number;
    bool isInfinite;
  };
  std::optional<Guard> guardOf(mlir::arith::CmpFPredicate p,
                               llvm::ArrayRef<Number> in);

  std::vector<Entry> entries;
  llvm::DenseMap<mlir::Value, Number> numbers;
  llvm::DenseMap<Number, bool> finite;
  std::map<const void *, Number> constants;
  std::map<std::pair<std::vector<const void *>, std::vector<Number>>, Number>
      computed;
};

/// The element that fills a constant, or null.
mlir::TypedAttr elementOf(mlir::Attribute constant);

} // namespace act::tile
#endif
