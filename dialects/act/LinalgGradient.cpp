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
  return error << ", and act knows the derivative of sums";
}

class GenericGradient {
public:
  GenericGradient(linalg::LinalgOp op, OpBuilder &b, Value dy, const Term &term)
      : op(op), b(b), loc(op.getLoc()), dy(dy), term(term) {}

  FailureOr<Value> of(unsigned input) {
    AffineMap map = op.getIndexingMapsArray()[input];
    if (!map.isProjectedPermutation(/*allowZeroInResults=*/true))
      return op.emitOpError("has no gradient: operand ")
             << input << " is read at " << AffineMapAttr::get(map)
             << ", expected a permutation of some dimensions";
    auto type = cast<RankedTensorType>(op.getDpsInputs()[input].getType());
    SmallVector<int64_t> sizes = op.getStaticLoopRanges();
    if (llvm::any_of(sizes, ShapedType::isDynamic))
      return op.emitOpError("has no gradient: its shape is dynamic");
    // A dimension that the input is repeated along is summed.
    SmallVector<bool> has(sizes.size());
    for (AffineExpr e : map.getResults())
      if (auto d = dyn_cast<AffineDimExpr>(e))
        has[d.getPosition()] = true;
    bool repeated = false;
    for (auto [d, size] : llvm::enumerate(sizes))
      repeated |= !has[d] && size != 1;
    if (repeated && op.getNumReductionLoops())
      return sum(input, map, type, has);
    return elementwise(input, map, type, sizes, has, repeated);
  }

private:
  // The body of a gradient's op: the forward body, then the adjoints. `inner`
  // has the block's arguments: the inputs, then dy. Returns the adjoint.
  FailureOr<Value> body(OpBuilder &inner, ValueRange arguments,
                        unsigned input) {
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

  SmallVector<Value> operands() {
    SmallVector<Value> list(op.getDpsInputs());
    list.push_back(dy);
    return list;
  }
  SmallVector<AffineMap> maps(AffineMap result) {
    SmallVector<AffineMap> all = op.getIndexingMapsArray();
    all.push_back(result); // behind that of the result, which is dy's
    return all;
  }

  template <typename Yield>
  FailureOr<Value> generic(RankedTensorType type, Value init, AffineMap map,
                           ArrayRef<utils::IteratorType> iterators,
                           unsigned input, Yield yield) {
    bool failed = false;
    auto made = linalg::GenericOp::create(
        b, loc, TypeRange{type}, operands(), ValueRange{init}, maps(map),
        iterators, [&](OpBuilder &inner, Location, ValueRange arguments) {
          auto d = body(inner, arguments, input);
          failed = mlir::failed(d);
          linalg::YieldOp::create(inner, loc,
                                  failed ? arguments.back()
                                         : yield(inner, *d, arguments.back()));
        });
    if (!failed)
      return made.getResult(0);
    made.erase();
    return failure();
  }

  // The sums of a contraction: in f32 where elements are of 16 bits.
  FailureOr<Value> sum(unsigned input, AffineMap map, RankedTensorType type,
                       ArrayRef<bool> has) {
    SmallVector<utils::IteratorType> iterators;
    for (bool kept : has)
      iterators.push_back(kept ? utils::IteratorType::parallel
                               : utils::IteratorType::reduction);
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
    auto made = generic(
        sumType, init, map, iterators, input,
        [&](OpBuilder &inner, Value d, Value accumulator) {
          if (wide != element)
            d = arith::ExtFOp::create(inner, loc, wide, d);
          return arith::AddFOp::create(inner, loc, accumulator, d).getResult();
        });
    if (failed(made) || wide == element)
      return made;
    return CastOp::create(b, loc, type, *made).getResult();
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
    auto all = RankedTensorType::get(shape, element);
    Value init = tensor::EmptyOp::create(b, loc, shape, element);
    SmallVector<utils::IteratorType> iterators(sizes.size(),
                                               utils::IteratorType::parallel);
    auto made = generic(
        all, init, AffineMap::get(sizes.size(), 0, order, b.getContext()),
        iterators, input, [](OpBuilder &, Value d, Value) { return d; });
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
  Value dy;
  const Term &term;
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
