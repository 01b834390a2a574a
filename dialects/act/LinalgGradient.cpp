// SPDX-License-Identifier: Apache-2.0
//
// The gradient of a generic op is a generic op over the same iterations. Its
// body is that of the op, followed by the adjoints of its scalar ops from the
// last one to the first. The body runs again in backward, so what is saved are
// the op's inputs.
//
//   y[i] = sum_j f(a[i, j], b[j])
//     becomes
//   da[i, j] = dy[i] * f_a(a[i, j], b[j])
//   db[j]    = sum_i dy[i] * f_b(a[i, j], b[j])
//
// Windows, as a convolution reads them, are windows of the result's gradient in
// backward: that is spread by the stride, and the window is read in opposite
// order. A maximum's gradient is shared by the elements that are equal to it.
//
// A sum that an input was broadcast over is an act.sum_to, which has kernels of
// its own. If the op is a contraction, values at all iterations would be more
// memory than its operands, so there the sum is in the generic op.
#include "dialects/act/LinalgGradient.h"
#include "dialects/act/Dialect.h"
#include "dialects/act/Types.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <functional>
#include <numeric>

using namespace mlir;
using namespace act;

namespace {

/// Adjoints of scalars in straight-line code.
class ScalarGradient {
public:
  ScalarGradient(OpBuilder &b, Location loc, IRMapping &forward)
      : b(b), loc(loc), forward(forward) {}

  DenseMap<Value, Value> adjoints; // by the value of the op's own body

  void add(Value v, Value adjoint) {
    if (!isa<FloatType>(v.getType()))
      return;
    Value &sum = adjoints[v];
    sum =
        sum ? arith::AddFOp::create(b, loc, sum, adjoint).getResult() : adjoint;
  }

  /// Adds to the adjoints of the operands; false if there is no rule.
  bool visit(Operation *op) {
    if (op->getNumResults() != 1)
      return op->getNumResults() == 0;
    Value d = adjoints.lookup(op->getResult(0));
    if (!d)
      return true;
    return rule(op, d);
  }

private:
  Value at(Value v) { return forward.lookupOrDefault(v); }
  Value number(Type type, double value) {
    return arith::ConstantOp::create(
        b, loc, b.getFloatAttr(cast<FloatType>(type), value));
  }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value neg(Value x) { return arith::NegFOp::create(b, loc, x); }
  template <typename Op> Value call(Value x) { return Op::create(b, loc, x); }

  // d to `x` where `first`, else to `y`.
  void choose(Value first, Value d, Value x, Value y) {
    Value zero = number(d.getType(), 0);
    add(x, arith::SelectOp::create(b, loc, first, d, zero));
    add(y, arith::SelectOp::create(b, loc, first, zero, d));
  }

  bool rule(Operation *op, Value d) {
    Value x = op->getNumOperands() ? op->getOperand(0) : Value();
    Value y = op->getNumOperands() > 1 ? op->getOperand(1) : Value();
    Value result = at(op->getResult(0));
    Type type = d.getType();
    auto one = [&] { return number(type, 1); };
    return llvm::TypeSwitch<Operation *, bool>(op)
        .Case([&](arith::AddFOp) { return add(x, d), add(y, d), true; })
        .Case([&](arith::SubFOp) { return add(x, d), add(y, neg(d)), true; })
        .Case([&](arith::MulFOp) {
          return add(x, mul(d, at(y))), add(y, mul(d, at(x))), true;
        })
        .Case([&](arith::DivFOp) {
          Value quotient = div(d, at(y));
          return add(x, quotient), add(y, neg(mul(quotient, result))), true;
        })
        .Case([&](arith::NegFOp) { return add(x, neg(d)), true; })
        .Case<arith::MaximumFOp, arith::MaxNumFOp>([&](auto) {
          choose(arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGE, at(x),
                                       at(y)),
                 d, x, y);
          return true;
        })
        .Case<arith::MinimumFOp, arith::MinNumFOp>([&](auto) {
          choose(arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE, at(x),
                                       at(y)),
                 d, x, y);
          return true;
        })
        .Case([&](arith::SelectOp) {
          return choose(at(x), d, y, op->getOperand(2)), true;
        })
        .Case([&](arith::ExtFOp) {
          return add(x, arith::TruncFOp::create(b, loc, x.getType(), d)), true;
        })
        .Case([&](arith::TruncFOp) {
          return add(x, arith::ExtFOp::create(b, loc, x.getType(), d)), true;
        })
        .Case([&](math::FmaOp) {
          add(x, mul(d, at(y)));
          add(y, mul(d, at(x)));
          return add(op->getOperand(2), d), true;
        })
        .Case([&](math::ExpOp) { return add(x, mul(d, result)), true; })
        .Case([&](math::Exp2Op) {
          return add(x, mul(d, mul(result, number(type, M_LN2)))), true;
        })
        .Case([&](math::ExpM1Op) {
          return add(x, mul(d, call<math::ExpOp>(at(x)))), true;
        })
        .Case([&](math::LogOp) { return add(x, div(d, at(x))), true; })
        .Case([&](math::Log2Op) {
          return add(x, div(d, mul(at(x), number(type, M_LN2)))), true;
        })
        .Case([&](math::Log1pOp) {
          return add(x, div(d, arith::AddFOp::create(b, loc, at(x), one()))),
                 true;
        })
        .Case([&](math::SqrtOp) {
          return add(x, div(mul(d, number(type, 0.5)), result)), true;
        })
        .Case([&](math::RsqrtOp) {
          Value half = mul(d, number(type, -0.5));
          return add(x, mul(half, mul(result, mul(result, result)))), true;
        })
        .Case([&](math::SinOp) {
          return add(x, mul(d, call<math::CosOp>(at(x)))), true;
        })
        .Case([&](math::CosOp) {
          return add(x, neg(mul(d, call<math::SinOp>(at(x))))), true;
        })
        .Case([&](math::TanhOp) {
          return add(x, mul(d, sub(one(), mul(result, result)))), true;
        })
        .Case([&](math::AtanOp) {
          Value square = mul(at(x), at(x));
          return add(x, div(d, arith::AddFOp::create(b, loc, square, one()))),
                 true;
        })
        .Case([&](math::ErfOp) {
          Value bell = call<math::ExpOp>(neg(mul(at(x), at(x))));
          return add(x, mul(d, mul(bell, number(type, M_2_SQRTPI)))), true;
        })
        .Case([&](math::AbsFOp) {
          Value sign = math::CopySignOp::create(b, loc, one(), at(x));
          Value zero = number(type, 0);
          Value isZero = arith::CmpFOp::create(
              b, loc, arith::CmpFPredicate::OEQ, at(x), zero);
          return add(x, mul(d, arith::SelectOp::create(b, loc, isZero, zero,
                                                       sign))),
                 true;
        })
        .Case([&](math::FPowIOp) {
          Value n = arith::SIToFPOp::create(b, loc, type, at(y));
          Value less = math::PowFOp::create(b, loc, at(x), sub(n, one()));
          return add(x, mul(d, mul(n, less))), true;
        })
        .Case([&](math::PowFOp) {
          Value less = math::PowFOp::create(b, loc, at(x), sub(at(y), one()));
          add(x, mul(d, mul(at(y), less)));
          // Of a constant exponent, nobody reads the adjoint, and the logarithm
          // of a negative base would be NaN.
          if (!y.getDefiningOp<arith::ConstantOp>())
            add(y, mul(d, mul(result, call<math::LogOp>(at(x)))));
          return true;
        })
        // Steps: their derivative is 0 wherever it exists.
        .Case<math::CeilOp, math::FloorOp, math::RoundOp, math::RoundEvenOp,
              math::TruncOp, arith::ConstantOp, arith::SIToFPOp,
              arith::UIToFPOp>([](auto) { return true; })
        .Default([](Operation *) { return false; });
  }

  OpBuilder &b;
  Location loc;
  IRMapping &forward;
};

/// What a body computes of its inputs, without the addition to the result.
struct Term {
  Value value;
  Operation *sum = nullptr; // the addition, or null for an elementwise map
};

/// Whether the op is a maximum or minimum of its first input. Another input may
/// say how large windows are, and is not read.
bool isExtremum(linalg::LinalgOp op) {
  if (!op.getNumReductionLoops())
    return false;
  Block *body = op.getBlock();
  Operation *last = body->getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_present<arith::MaximumFOp, arith::MaxNumFOp, arith::MinimumFOp,
                       arith::MinNumFOp>(last) ||
      !llvm::hasSingleElement(body->without_terminator()))
    return false;
  Value in = op.getRegionInputArgs()[0], out = op.getRegionOutputArgs()[0];
  return (last->getOperand(0) == in && last->getOperand(1) == out) ||
         (last->getOperand(0) == out && last->getOperand(1) == in);
}

FailureOr<Term> termOf(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  Value yielded = body->getTerminator()->getOperand(0);
  Value accumulator = op.getRegionOutputArgs()[0];
  if (!op.getNumReductionLoops()) {
    if (!accumulator.use_empty())
      return op.emitOpError("has no gradient: its body reads the tensor that "
                            "its result is written to");
    return Term{yielded, nullptr};
  }
  Operation *last = yielded.getDefiningOp();
  if (auto add = dyn_cast_or_null<arith::AddFOp>(last))
    for (auto [acc, term] : {std::pair(add.getLhs(), add.getRhs()),
                             std::pair(add.getRhs(), add.getLhs())})
      if (acc == accumulator && accumulator.hasOneUse())
        return Term{term, last};
  auto error = op.emitOpError("has no gradient: it reduces by ");
  if (last)
    error << last->getName();
  else
    error << "a value without an op";
  return error << ", and act knows the derivatives of sums and maxima";
}

class GenericGradient {
public:
  /// Of an elementwise map or a sum.
  GenericGradient(linalg::LinalgOp op, OpBuilder &b, Value dy, const Term &term)
      : op(op), b(b), loc(op.getLoc()) {
    addOperands({dy});
    body = [this, term](OpBuilder &inner, ValueRange arguments,
                        unsigned input) {
      return adjoint(term, inner, arguments, input);
    };
  }
  /// Of a maximum or minimum: what is equal to it shares its gradient.
  GenericGradient(linalg::LinalgOp op, OpBuilder &b, Value dy)
      : op(op), b(b), loc(op.getLoc()) {
    const unsigned inputs = op.getNumDpsInputs();
    auto isEqual = [this](OpBuilder &inner, Value x, Value y) -> Value {
      return arith::CmpFOp::create(inner, loc, arith::CmpFPredicate::OEQ, x, y);
    };
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    addOperands({op->getResult(0)});
    auto count = emitSum(
        withElement(type, type.getElementType()), list, all, all.back(),
        op.getIteratorTypesArray(),
        [&](OpBuilder &inner, ValueRange arguments) -> FailureOr<Value> {
          Type element = arguments[0].getType();
          auto number = [&](double n) -> Value {
            return arith::ConstantOp::create(inner, loc,
                                             inner.getFloatAttr(element, n));
          };
          return arith::SelectOp::create(
                     inner, loc,
                     isEqual(inner, arguments[0], arguments[inputs]), number(1),
                     number(0))
              .getResult();
        });
    list.push_back(DivOp::create(b, loc, type, dy, *count));
    all.push_back(all.back());
    body = [this, inputs, isEqual](OpBuilder &inner, ValueRange arguments,
                                   unsigned) -> FailureOr<Value> {
      Value d = arguments[inputs + 1];
      Value zero = arith::ConstantOp::create(
          inner, loc, inner.getFloatAttr(cast<FloatType>(d.getType()), 0.0));
      return arith::SelectOp::create(
                 inner, loc, isEqual(inner, arguments[0], arguments[inputs]), d,
                 zero)
          .getResult();
    };
  }
  GenericGradient(const GenericGradient &) = delete;

  FailureOr<Value> of(unsigned input) {
    AffineMap map = op.getIndexingMapsArray()[input];
    auto type = cast<RankedTensorType>(op.getDpsInputs()[input].getType());
    SmallVector<int64_t> sizes = op.getStaticLoopRanges();
    if (llvm::any_of(sizes, ShapedType::isDynamic))
      return op.emitOpError("has no gradient: its shape is dynamic");
    if (!map.isProjectedPermutation(/*allowZeroInResults=*/true)) {
      auto windows = windowsOf(map);
      if (succeeded(windows))
        return windowed(input, map, type, *windows);
      return op.emitOpError("has no gradient: operand ")
             << input << " is read at " << AffineMapAttr::get(map)
             << ", expected a permutation of some dimensions, or windows";
    }
    // A dimension that the input is repeated along is summed.
    SmallVector<bool> has(sizes.size());
    for (AffineExpr e : map.getResults())
      if (auto d = dyn_cast<AffineDimExpr>(e))
        has[d.getPosition()] = true;
    bool repeated = false;
    for (auto [d, size] : llvm::enumerate(sizes))
      repeated |= !has[d] && size != 1;
    if (repeated && op.getNumReductionLoops())
      return sum(input, list, all, map, type, has);
    return elementwise(input, map, type, sizes, has, repeated);
  }

private:
  // outer * stride + inner * dilation, where the result has the outer dimension
  // and is a sum along the inner one.
  struct Window {
    unsigned outer, inner;
    int64_t stride, dilation;
  };
  // For each result of a map, if it is a window. None of a window's dimensions
  // is in another result.
  FailureOr<SmallVector<std::optional<Window>>> windowsOf(AffineMap map) {
    SmallVector<std::optional<Window>> windows;
    SmallVector<int> uses(map.getNumDims());
    auto scaled =
        [](AffineExpr e) -> std::optional<std::pair<unsigned, int64_t>> {
      if (auto d = dyn_cast<AffineDimExpr>(e))
        return std::pair(d.getPosition(), int64_t(1));
      auto product = dyn_cast<AffineBinaryOpExpr>(e);
      if (!product || product.getKind() != AffineExprKind::Mul)
        return std::nullopt;
      auto d = dyn_cast<AffineDimExpr>(product.getLHS());
      auto n = dyn_cast<AffineConstantExpr>(product.getRHS());
      if (!d || !n || n.getValue() < 1)
        return std::nullopt;
      return std::pair(d.getPosition(), n.getValue());
    };
    auto isSummed = [&](unsigned d) {
      return linalg::isReductionIterator(op.getIteratorTypesArray()[d]);
    };
    for (AffineExpr e : map.getResults()) {
      windows.emplace_back();
      if (auto d = dyn_cast<AffineDimExpr>(e)) {
        ++uses[d.getPosition()];
        continue;
      }
      auto sum = dyn_cast<AffineBinaryOpExpr>(e);
      if (!sum || sum.getKind() != AffineExprKind::Add)
        return failure();
      auto a = scaled(sum.getLHS()), c = scaled(sum.getRHS());
      if (!a || !c)
        return failure();
      if (isSummed(a->first))
        std::swap(a, c);
      if (isSummed(a->first) || !isSummed(c->first))
        return failure();
      ++uses[a->first], ++uses[c->first];
      windows.back() = Window{a->first, c->first, a->second, c->second};
    }
    if (llvm::any_of(uses, [](int n) { return n > 1; }))
      return failure();
    return windows;
  }

  Value reshaped(Value v, ArrayRef<int64_t> shape) {
    auto type = RankedTensorType::get(
        shape, cast<RankedTensorType>(v.getType()).getElementType());
    return v.getType() == type ? v
                               : ReshapeOp::create(b, loc, type, v).getResult();
  }
  static int64_t product(ArrayRef<int64_t> sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                           std::multiplies<>());
  }

  // Along dimension d: `stride` - 1 zeros behind each element, `low` zeros
  // before the first, and as many behind the last, or so few elements, that
  // there are `size`.
  Value spread(Value v, unsigned d, int64_t stride, int64_t low, int64_t size) {
    auto type = cast<RankedTensorType>(v.getType());
    SmallVector<int64_t> shape(type.getShape());
    SmallVector<int64_t> outer(ArrayRef(shape).take_front(d));
    const int64_t inner = product(ArrayRef(shape).drop_front(d + 1));
    auto view = [&](std::initializer_list<int64_t> last) {
      SmallVector<int64_t> to(outer);
      to.append(last);
      return to;
    };
    auto zeros = [&](SmallVector<int64_t> to) -> Value {
      Value zero = act::ConstantOp::create(
          b, loc, RankedTensorType::get({}, type.getElementType()), 0.0);
      zero = reshaped(zero, SmallVector<int64_t>(to.size(), 1));
      auto full = RankedTensorType::get(to, type.getElementType());
      return zero.getType() == full
                 ? zero
                 : ExpandOp::create(b, loc, full, zero).getResult();
    };
    auto join = [&](ArrayRef<Value> parts, SmallVector<int64_t> to) -> Value {
      return act::ConcatOp::create(
          b, loc, RankedTensorType::get(to, type.getElementType()), parts);
    };
    int64_t own = shape[d] * stride;
    if (stride > 1) {
      v = reshaped(v, view({shape[d], inner}));
      v = join({v, zeros(view({shape[d], (stride - 1) * inner}))},
               view({shape[d], stride * inner}));
    }
    v = reshaped(v, view({own * inner}));
    if (low) {
      own += low;
      v = join({zeros(view({low * inner})), v}, view({own * inner}));
    }
    if (own < size) {
      v = join({v, zeros(view({(size - own) * inner}))}, view({size * inner}));
    } else if (own > size) {
      SmallVector<Type> parts;
      for (int64_t n : {size, own - size})
        parts.push_back(
            RankedTensorType::get(view({n * inner}), type.getElementType()));
      v = SplitOp::create(b, loc, TypeRange(parts), v)->getResult(0);
    }
    shape[d] = size;
    return reshaped(v, shape);
  }

  // The elements in opposite order along a dimension: linalg has no map for it.
  Value reversed(Value v, unsigned d) {
    auto type = cast<RankedTensorType>(v.getType());
    ArrayRef<int64_t> shape = type.getShape();
    if (shape[d] == 1)
      return v;
    SmallVector<int64_t> row(shape.take_front(d));
    const int64_t inner = product(shape.drop_front(d + 1));
    row.push_back(shape[d] * inner);
    auto whole = RankedTensorType::get(row, type.getElementType());
    row.back() = inner;
    SmallVector<Type> parts(shape[d],
                            RankedTensorType::get(row, type.getElementType()));
    auto split = SplitOp::create(b, loc, TypeRange(parts),
                                 reshaped(v, whole.getShape()));
    SmallVector<Value> turned(llvm::reverse(split->getResults()));
    return reshaped(act::ConcatOp::create(b, loc, whole, turned), shape);
  }

  // The input's element i was read for result o and window's element k where
  // i = o stride + k dilation. So its gradient is a sum over k in opposite
  // order, of what the result had, spread by stride: at i + k' dilation. In the
  // new iterations an outer dimension counts the input's elements.
  FailureOr<Value> windowed(unsigned input, AffineMap map,
                            RankedTensorType type,
                            ArrayRef<std::optional<Window>> windows) {
    const unsigned loops = map.getNumDims();
    SmallVector<int64_t> sizes = op.getStaticLoopRanges();
    SmallVector<AffineExpr> own;
    SmallVector<bool> has(loops);
    for (auto [e, window] : llvm::zip_equal(map.getResults(), windows)) {
      own.push_back(window ? b.getAffineDimExpr(window->outer) : e);
      if (auto d = dyn_cast<AffineDimExpr>(own.back()))
        has[d.getPosition()] = true;
    }
    AffineMap result = AffineMap::get(loops, 0, own, b.getContext());
    auto find = [&](unsigned d) -> std::pair<const Window *, int64_t> {
      for (auto [i, window] : llvm::enumerate(windows))
        if (window && (window->outer == d || window->inner == d))
          return {&*window, type.getDimSize(i)};
      return {nullptr, 0};
    };
    SmallVector<Value> operands = list;
    SmallVector<AffineMap> maps = all;
    for (unsigned i = 0; i < operands.size(); ++i) {
      if (i == input) {
        maps[i] = result;
        continue;
      }
      SmallVector<AffineExpr> exprs;
      SmallVector<unsigned> turned;
      for (auto [k, e] : llvm::enumerate(maps[i].getResults())) {
        auto d = dyn_cast<AffineDimExpr>(e);
        auto [window, size] =
            d ? find(d.getPosition()) : std::pair<const Window *, int64_t>();
        if (!d && !isa<AffineConstantExpr>(e))
          return op.emitOpError("has no gradient: two operands are read in "
                                "windows");
        if (window && d.getPosition() == window->outer) {
          const int64_t low = (sizes[window->inner] - 1) * window->dilation;
          operands[i] = spread(operands[i], k, window->stride, low, size + low);
          exprs.push_back(e +
                          b.getAffineDimExpr(window->inner) * window->dilation);
          continue;
        }
        if (window)
          turned.push_back(k);
        exprs.push_back(e);
      }
      // A tensor that only says how large windows are has no order.
      const bool isRead =
          i >= op.getNumDpsInputs() || !op.getRegionInputArgs()[i].use_empty();
      if (isRead)
        for (unsigned d : turned)
          operands[i] = reversed(operands[i], d);
      maps[i] = AffineMap::get(loops, 0, exprs, b.getContext());
    }
    return sum(input, operands, maps, result, type, has);
  }

  // The op's inputs, and others that are read as its result is.
  void addOperands(std::initializer_list<Value> others) {
    list = SmallVector<Value>(op.getDpsInputs());
    all = op.getIndexingMapsArray();
    all.resize(list.size(), AffineMap());
    for (Value v : others) {
      list.push_back(v);
      all.push_back(op.getMatchingIndexingMap(op.getDpsInitOperand(0)));
    }
  }

  // The body of a gradient's op: the forward body, then the adjoints. `inner`
  // has the block's arguments: the inputs, then dy. Returns the adjoint.
  FailureOr<Value> adjoint(const Term &term, OpBuilder &inner,
                           ValueRange arguments, unsigned input) {
    IRMapping forward;
    for (auto [from, to] : llvm::zip(op.getRegionInputArgs(), arguments))
      forward.map(from, to);
    SmallVector<Operation *> ops;
    for (Operation &each : op.getBlock()->without_terminator()) {
      if (&each == term.sum)
        continue;
      for (Value v : each.getOperands())
        if (Operation *def = v.getDefiningOp();
            def && def->getBlock() != op.getBlock() && !forward.contains(v))
          forward.map(v, inner.clone(*def)->getResult(0));
      inner.clone(each, forward);
      ops.push_back(&each);
    }
    ScalarGradient gradient(inner, loc, forward);
    gradient.add(term.value, arguments[op.getNumDpsInputs()]);
    for (Operation *each : llvm::reverse(ops))
      if (!gradient.visit(each))
        return op.emitOpError("has no gradient: its body has ")
               << each->getName() << ", which has no derivative in act";
    Value d = gradient.adjoints.lookup(op.getRegionInputArgs()[input]);
    Type element = op.getRegionInputArgs()[input].getType();
    return d ? d
             : arith::ConstantOp::create(inner, loc,
                                         inner.getFloatAttr(element, 0.0))
                   .getResult();
  }

  using Adjoint = function_ref<FailureOr<Value>(OpBuilder &, ValueRange)>;
  using Yield = function_ref<Value(OpBuilder &, Value d, Value accumulator)>;

  FailureOr<Value> emit(RankedTensorType type, Value init,
                        ArrayRef<Value> operands, ArrayRef<AffineMap> maps,
                        ArrayRef<utils::IteratorType> iterators,
                        Adjoint adjointOf, Yield yield) {
    bool failed = false;
    auto made = linalg::GenericOp::create(
        b, loc, TypeRange{type}, operands, ValueRange{init}, maps, iterators,
        [&](OpBuilder &inner, Location, ValueRange arguments) {
          auto d = adjointOf(inner, arguments);
          failed = mlir::failed(d);
          linalg::YieldOp::create(inner, loc,
                                  failed ? arguments.back()
                                         : yield(inner, *d, arguments.back()));
        });
    if (!failed)
      return withoutUnused(made).getResult(0);
    made.erase();
    return failure();
  }

  // The op without what its yield does not need. An input that nothing reads
  // would be kept for backward; one that gives a loop its length stays.
  linalg::GenericOp withoutUnused(linalg::GenericOp made) {
    Block *body = made.getBody();
    for (Operation &each : llvm::make_early_inc_range(llvm::reverse(*body)))
      if (isOpTriviallyDead(&each))
        each.erase();
    SmallVector<Value> inputs(made.getDpsInputs());
    SmallVector<AffineMap> maps = made.getIndexingMapsArray();
    for (unsigned i = inputs.size(); i-- > 0;) {
      SmallVector<AffineMap> fewer(maps);
      fewer.erase(fewer.begin() + i);
      if (!body->getArgument(i).use_empty() ||
          !inversePermutation(concatAffineMaps(fewer, b.getContext())))
        continue;
      maps = fewer;
      inputs.erase(inputs.begin() + i);
      body->eraseArgument(i);
    }
    if (maps.size() == made.getIndexingMapsArray().size())
      return made;
    auto less = linalg::GenericOp::create(b, loc, made->getResultTypes(),
                                          inputs, made.getDpsInits(), maps,
                                          made.getIteratorTypesArray());
    less.getRegion().takeBody(made.getRegion());
    made.erase();
    return less;
  }

  // A sum, in f32 where elements are of 16 bits.
  FailureOr<Value> emitSum(RankedTensorType type, ArrayRef<Value> operands,
                           ArrayRef<AffineMap> maps, AffineMap map,
                           ArrayRef<utils::IteratorType> iterators,
                           Adjoint adjointOf) {
    SmallVector<AffineMap> own(maps);
    own.push_back(map);
    Type element = type.getElementType();
    Type wide = element.getIntOrFloatBitWidth() < 32 ? b.getF32Type() : element;
    auto sumType = withElement(type, wide);
    Value empty =
        tensor::EmptyOp::create(b, loc, type.getShape(), wide, ValueRange{});
    empty.setType(sumType);
    Value zero = arith::ConstantOp::create(b, loc, b.getFloatAttr(wide, 0.0));
    Value init =
        linalg::FillOp::create(b, loc, ValueRange{zero}, ValueRange{empty})
            .getResult(0);
    auto made =
        emit(sumType, init, operands, own, iterators, adjointOf,
             [&](OpBuilder &inner, Value d, Value accumulator) -> Value {
               // Rounded once, as a sum.
               if (auto rounded = d.getDefiningOp<arith::TruncFOp>();
                   rounded && rounded.getIn().getType() == wide)
                 d = rounded.getIn();
               else if (wide != element)
                 d = arith::ExtFOp::create(inner, loc, wide, d);
               return arith::AddFOp::create(inner, loc, accumulator, d);
             });
    if (failed(made) || wide == element)
      return made;
    return CastOp::create(b, loc, type, *made).getResult();
  }

  // The adjoints of `operands`, read at `maps`, summed along the dimensions
  // that the result does not have.
  FailureOr<Value> sum(unsigned input, ArrayRef<Value> operands,
                       ArrayRef<AffineMap> maps, AffineMap map,
                       RankedTensorType type, ArrayRef<bool> has) {
    SmallVector<utils::IteratorType> iterators;
    for (bool kept : has)
      iterators.push_back(kept ? utils::IteratorType::parallel
                               : utils::IteratorType::reduction);
    return emitSum(type, operands, maps, map, iterators,
                   [&](OpBuilder &inner, ValueRange arguments) {
                     return body(inner, arguments, input);
                   });
  }

  FailureOr<Value> elementwise(unsigned input, AffineMap map,
                               RankedTensorType type, ArrayRef<int64_t> sizes,
                               ArrayRef<bool> has, bool repeated) {
    // The dimensions in the order of the input, the repeated ones first.
    SmallVector<AffineExpr> order;
    SmallVector<int64_t> shape, summed;
    for (auto [d, size] : llvm::enumerate(sizes))
      if (!has[d]) {
        order.push_back(b.getAffineDimExpr(d));
        shape.push_back(size);
        summed.push_back(1);
      }
    for (AffineExpr e : map.getResults())
      if (auto d = dyn_cast<AffineDimExpr>(e)) {
        order.push_back(e);
        shape.push_back(sizes[d.getPosition()]);
        summed.push_back(shape.back());
      }
    Type element = type.getElementType();
    auto full = RankedTensorType::get(shape, element);
    Value init = tensor::EmptyOp::create(b, loc, shape, element);
    SmallVector<utils::IteratorType> iterators(sizes.size(),
                                               utils::IteratorType::parallel);
    SmallVector<AffineMap> maps(this->all);
    maps.push_back(AffineMap::get(sizes.size(), 0, order, b.getContext()));
    auto made = emit(
        full, init, list, maps, iterators,
        [&](OpBuilder &inner, ValueRange arguments) {
          return body(inner, arguments, input);
        },
        [](OpBuilder &, Value d, Value) { return d; });
    if (failed(made))
      return failure();
    Value d = *made;
    if (repeated)
      d = SumToOp::create(b, loc, RankedTensorType::get(summed, element), d);
    return d.getType() == type ? d
                               : ReshapeOp::create(b, loc, type, d).getResult();
  }

  linalg::LinalgOp op;
  OpBuilder &b;
  Location loc;
  SmallVector<Value> list; // what the gradient's op reads, and where
  SmallVector<AffineMap> all;
  /// The adjoint of an input at one iteration.
  std::function<FailureOr<Value>(OpBuilder &, ValueRange, unsigned)> body;
};

} // namespace

LogicalResult act::buildLinalgGradient(linalg::LinalgOp op, OpBuilder &b,
                                       Value dy, ArrayRef<bool> needed,
                                       SmallVectorImpl<Value> &operandGrads) {
  if (op->getNumResults() != 1)
    return op.emitOpError("has no gradient: it has several results");
  AffineMap result = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!result.isProjectedPermutation() ||
      !isa<FloatType>(getElementTypeOrSelf(op->getResult(0))))
    return op.emitOpError("has no gradient: its result is not written once at "
                          "a permutation of the dimensions");
  if (isExtremum(op)) {
    // The start of a maximum is less than what it is of.
    if (!needed[0])
      return success();
    auto d = GenericGradient(op, b, dy).of(0);
    if (failed(d))
      return failure();
    operandGrads[0] = *d;
    return success();
  }
  auto term = termOf(op);
  if (failed(term))
    return failure();
  GenericGradient gradient(op, b, dy, *term);
  for (unsigned i = 0; i < op.getNumDpsInputs(); ++i) {
    if (!needed[i])
      continue;
    auto d = gradient.of(i);
    if (failed(d))
      return failure();
    operandGrads[i] = *d;
  }
  // What a sum starts from is added to it.
  unsigned init = op.getNumDpsInputs();
  if (needed[init] && term->sum)
    operandGrads[init] = dy;
  return success();
}
