// SPDX-License-Identifier: Apache-2.0
//
// How ops of the torch dialect become upstream ones and act's. Operands that
// are numbers, lists or words are constants.
#ifndef ACT_PASSES_RAISE_TORCHLOWERING_H
#define ACT_PASSES_RAISE_TORCHLOWERING_H
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/raise/Maker.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>

namespace act::torch {
using namespace mlir;

/// What is no tensor.
struct Constant {
  std::optional<double> number; ///< also of booleans; none: nothing, or a word
  std::string word;
};

class Lowering {
public:
  explicit Lowering(func::FuncOp function) : function(function) {}
  LogicalResult lower();

private:
  using Rule = Value (Lowering::*)();
  static const llvm::StringMap<Rule> &table();

  bool constant();
  Value run();

  // The op that is lowered.
  unsigned count() { return op->getNumOperands(); }
  RankedTensorType type() { return result; }
  Type element() { return result.getElementType(); }
  Value tensor(unsigned i) {
    return i < count() ? tensors.lookup(op->getOperand(i)) : Value();
  }
  std::optional<double> number(unsigned i) {
    if (i >= count())
      return std::nullopt;
    auto found = constants.find(op->getOperand(i));
    return found == constants.end() ? std::nullopt : found->second.number;
  }
  std::optional<int64_t> integer(unsigned i) {
    auto n = number(i);
    return n ? std::optional(int64_t(*n)) : std::nullopt;
  }
  bool isNone(unsigned i) {
    if (i >= count())
      return true;
    auto found = constants.find(op->getOperand(i));
    return found != constants.end() && !found->second.number &&
           found->second.word.empty();
  }
  std::optional<SmallVector<int64_t>> integers(unsigned i) {
    if (i >= count())
      return std::nullopt;
    auto found = lists.find(op->getOperand(i));
    if (found == lists.end())
      return std::nullopt;
    SmallVector<int64_t> all;
    for (Value v : found->second) {
      auto own = constants.find(v);
      if (own == constants.end() || !own->second.number)
        return std::nullopt;
      all.push_back(int64_t(*own->second.number));
    }
    return all;
  }
  /// A dimension of a tensor, counted from the end if it is negative.
  std::optional<unsigned> dimension(unsigned i, int64_t rank) {
    auto d = integer(i);
    if (d && *d < 0)
      *d += rank;
    return d && *d >= 0 && *d < rank ? std::optional(unsigned(*d))
                                     : std::nullopt;
  }

  Value empty(RankedTensorType of) {
    return tensor::EmptyOp::create(*b, loc, of.getShape(), of.getElementType());
  }
  /// A number in a type of floats or integers.
  Value scalar(OpBuilder &at, Type of, double n) {
    if (isa<FloatType>(of))
      return arith::ConstantOp::create(at, loc, at.getFloatAttr(of, n));
    return arith::ConstantOp::create(at, loc,
                                     at.getIntegerAttr(of, int64_t(n)));
  }
  Value scalar(Type of, double n) { return scalar(*b, of, n); }
  Value filled(RankedTensorType of, double n) {
    return linalg::FillOp::create(*b, loc,
                                  ValueRange(scalar(of.getElementType(), n)),
                                  ValueRange(empty(of)))
        .getResult(0);
  }
  using Body = function_ref<Value(OpBuilder &, ValueRange)>;
  /// Operands repeat from the right.
  Value elementwise(ValueRange operands, Body body) {
    const int64_t rank = type().getRank();
    SmallVector<AffineMap> maps;
    for (Value v : operands) {
      auto shape = cast<RankedTensorType>(v.getType()).getShape();
      if (int64_t(shape.size()) > rank)
        return {};
      SmallVector<AffineExpr> exprs;
      for (auto [i, size] : llvm::enumerate(shape)) {
        const unsigned d = rank - shape.size() + i;
        if (size != 1 && size != type().getDimSize(d))
          return {};
        exprs.push_back(size == 1 && type().getDimSize(d) != 1
                            ? b->getAffineConstantExpr(0)
                            : b->getAffineDimExpr(d));
      }
      maps.push_back(AffineMap::get(rank, 0, exprs, b->getContext()));
    }
    maps.push_back(b->getMultiDimIdentityMap(rank));
    return linalg::GenericOp::create(
               *b, loc, TypeRange(type()), operands, ValueRange(empty(type())),
               maps,
               SmallVector<utils::IteratorType>(rank,
                                                utils::IteratorType::parallel),
               [&](OpBuilder &inner, Location at, ValueRange arguments) {
                 linalg::YieldOp::create(inner, at,
                                         body(inner, arguments.drop_back()));
               })
        .getResult(0);
  }
  Value casted(Value v) {
    return elementwise(v, [&](OpBuilder &inner, ValueRange x) {
      return castScalar(inner, loc, x[0], element());
    });
  }

  // Rules.
  template <typename Op> Value unary() {
    Value x = tensor(0);
    if (!x || !isa<FloatType>(element()))
      return {};
    return elementwise(x, [&](OpBuilder &inner, ValueRange v) -> Value {
      return Op::create(inner, loc, castScalar(inner, loc, v[0], element()));
    });
  }
  /// f of two operands, each a tensor or a number, in the type `of`.
  Value binaryIn(Type of, function_ref<Value(OpBuilder &, Value, Value)> f) {
    SmallVector<Value> operands;
    std::optional<double> numbers[2];
    for (unsigned i : {0u, 1u}) {
      if (Value v = tensor(i))
        operands.push_back(v);
      else if (!(numbers[i] = number(i)))
        return {};
    }
    if (operands.empty())
      return {};
    return elementwise(operands, [&](OpBuilder &inner, ValueRange v) {
      Value sides[2];
      unsigned next = 0;
      for (unsigned i : {0u, 1u})
        sides[i] = numbers[i] ? scalar(inner, of, *numbers[i])
                              : castScalar(inner, loc, v[next++], of);
      return f(inner, sides[0], sides[1]);
    });
  }
  template <typename F, typename I> Value binary() {
    return binaryIn(element(), [&](OpBuilder &inner, Value x, Value y) {
      return isa<FloatType>(element())
                 ? F::create(inner, loc, x, y).getResult()
                 : I::create(inner, loc, x, y).getResult();
    });
  }
  /// With a third operand that the second is multiplied by.
  template <typename F, typename I> Value withFactor() {
    if (count() > 2 && number(2) != 1.0)
      return {};
    return binary<F, I>();
  }
  Value divided() {
    return isa<FloatType>(element()) ? binary<arith::DivFOp, arith::DivSIOp>()
                                     : Value();
  }
  Value power() {
    return isa<FloatType>(element())
               ? binaryIn(element(),
                          [&](OpBuilder &inner, Value x, Value y) -> Value {
                            return math::PowFOp::create(inner, loc, x, y);
                          })
               : Value();
  }
  template <arith::CmpFPredicate F, arith::CmpIPredicate I> Value compared() {
    Value x = tensor(0), y = tensor(1);
    if (!x)
      return {};
    Type of = typeOf(x).getElementType();
    if (y && isa<FloatType>(typeOf(y).getElementType()))
      of = typeOf(y).getElementType();
    if (isa<IntegerType>(of) && number(1) &&
        *number(1) != std::floor(*number(1)))
      return {}; // an integer that is compared with a fraction
    return binaryIn(of, [&](OpBuilder &inner, Value a, Value c) -> Value {
      if (isa<FloatType>(of))
        return arith::CmpFOp::create(inner, loc, F, a, c);
      return arith::CmpIOp::create(inner, loc, I, a, c);
    });
  }
  template <typename Op> Value logical() {
    return element().isInteger(1)
               ? binaryIn(element(),
                          [&](OpBuilder &inner, Value x, Value y) -> Value {
                            return Op::create(inner, loc, x, y);
                          })
               : Value();
  }
  Value inverted();
  Value chosen();
  Value relu();
  Value sigmoid();
  Value silu();
  Value gelu();
  Value converted() { return tensor(0) ? casted(tensor(0)) : Value(); }
  Value same() { return tensor(0); }
  Value reshaped();
  Value permuted();
  Value swapped();
  Value turned();
  Value repeated();
  Value joined();
  Value sliced();
  Value selected();
  Value counted();
  template <int N> Value full() { return filled(type(), N); }
  Value fullOf();
  Value literal();
  template <typename F, typename I>
  Value reducedBy(Value x, ArrayRef<int64_t> dims, double start);
  Value summed();
  Value summedAll();
  Value mean();
  Value greatest();
  Value greatestAlong();
  Value allAlong();
  Value product();
  Value multiplied();
  Value linear();
  Value softmax();
  Value attention();
  Value layerNorm();
  Value embedding();
  Value gathered();
  Value surrounded();
  Value convolved();
  Value pooled();

  Value matmul(Value x, Value y);

  func::FuncOp function;
  Operation *op = nullptr;
  RankedTensorType result;
  std::optional<OpBuilder> b;
  Location loc = function.getLoc();
  llvm::DenseMap<Value, Value> tensors;
  llvm::DenseMap<Value, Constant> constants;
  llvm::DenseMap<Value, SmallVector<Value>> lists;
};

} // namespace act::torch
#endif
