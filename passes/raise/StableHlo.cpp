// SPDX-License-Identifier: Apache-2.0
//
// The table of StableHLO's ops (its specification: openxla.org/stablehlo/spec),
// by what each means.
#include "passes/raise/StableHlo.h"
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "passes/raise/LinalgForm.h"
#include "passes/raise/StableHloLowering.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace act::stablehlo;

Attribute act::stablehlo::attributeOf(Operation *op, StringRef name) {
  if (Attribute own = op->getDiscardableAttr(name))
    return own;
  auto properties =
      dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute());
  return properties ? properties.get(name) : Attribute();
}

std::optional<SmallVector<int64_t>> act::stablehlo::integersOf(Operation *op,
                                                               StringRef name) {
  Attribute attribute = attributeOf(op, name);
  if (auto array = dyn_cast_or_null<DenseI64ArrayAttr>(attribute))
    return SmallVector<int64_t>(array.asArrayRef());
  if (auto dense = dyn_cast_or_null<DenseIntElementsAttr>(attribute)) {
    SmallVector<int64_t> all;
    for (const APInt &i : dense.getValues<APInt>())
      all.push_back(i.getSExtValue());
    return all;
  }
  return std::nullopt;
}

bool act::stablehlo::areDimensions(ArrayRef<int64_t> numbers, int64_t rank) {
  llvm::SmallDenseSet<int64_t> seen;
  return llvm::all_of(numbers, [&](int64_t d) {
    return d >= 0 && d < rank && seen.insert(d).second;
  });
}

SmallVector<int64_t> act::stablehlo::integersIn(StringRef text,
                                                StringRef name) {
  SmallVector<int64_t> all;
  auto [before, list] = text.split((name + " = [").str());
  for (StringRef part : llvm::split(list.split(']').first, ',')) {
    int64_t n;
    if (!part.trim().getAsInteger(10, n))
      all.push_back(n);
  }
  return all;
}

StringRef act::stablehlo::textOf(Attribute attribute) {
  auto opaque = dyn_cast_or_null<OpaqueAttr>(attribute);
  return opaque ? opaque.getAttrData() : StringRef();
}

Value Lowering::constant() {
  auto value = dyn_cast_or_null<ElementsAttr>(attributeOf(op, "value"));
  return value ? arith::ConstantOp::create(b, loc, type(), value).getResult()
               : Value();
}

Value Lowering::broadcast() {
  auto dims = integersOf(op, "broadcast_dimensions");
  auto from = cast<RankedTensorType>(op->getOperand(0).getType());
  if (!dims || int64_t(dims->size()) != from.getRank() ||
      !areDimensions(*dims, rank()))
    return {};
  for (auto [size, d] : llvm::zip(from.getShape(), *dims))
    if (size != 1 && size != type().getDimSize(d))
      return {};
  SmallVector<AffineExpr> exprs;
  for (auto [size, d] : llvm::zip(from.getShape(), *dims))
    exprs.push_back(size == type().getDimSize(d) ? b.getAffineDimExpr(d)
                                                 : b.getAffineConstantExpr(0));
  return map(op->getOperands(),
             AffineMap::get(rank(), 0, exprs, op->getContext()),
             [](OpBuilder &, ValueRange v) { return v[0]; });
}

Value Lowering::transposed() {
  auto permutation = integersOf(op, "permutation");
  auto from = cast<RankedTensorType>(op->getOperand(0).getType());
  if (!permutation || int64_t(permutation->size()) != rank() ||
      from.getRank() != rank() || !areDimensions(*permutation, rank()))
    return {};
  for (auto [size, d] : llvm::zip(type().getShape(), *permutation))
    if (size != from.getDimSize(d))
      return {};
  return linalg::TransposeOp::create(b, loc, op->getOperand(0), empty(type()),
                                     *permutation)
      ->getResult(0);
}

// Result: batches, then the left operand's other dimensions, then the right's.
Value Lowering::product() {
  StringRef text = textOf(attributeOf(op, "dot_dimension_numbers"));
  if (!text.starts_with("dot<"))
    return {};
  unsigned dims = 0;
  SmallVector<AffineExpr> out, sides[2];
  SmallVector<utils::IteratorType> kinds;
  SmallVector<int64_t> batch[2], summed[2];
  for (int side : {0, 1}) {
    const std::string prefix = side ? "rhs_" : "lhs_";
    batch[side] = integersIn(text, prefix + "batching_dimensions");
    summed[side] = integersIn(text, prefix + "contracting_dimensions");
    sides[side].resize(
        cast<RankedTensorType>(op->getOperand(side).getType()).getRank());
  }
  if (batch[0].size() != batch[1].size() ||
      summed[0].size() != summed[1].size())
    return {};
  for (int side : {0, 1}) {
    SmallVector<int64_t> all(batch[side]);
    llvm::append_range(all, summed[side]);
    if (!areDimensions(all, sides[side].size()))
      return {};
  }
  auto next = [&](utils::IteratorType kind) {
    kinds.push_back(kind);
    return b.getAffineDimExpr(dims++);
  };
  for (auto [l, r] : llvm::zip(batch[0], batch[1])) {
    sides[0][l] = sides[1][r] = next(utils::IteratorType::parallel);
    out.push_back(sides[0][l]);
  }
  for (auto [l, r] : llvm::zip(summed[0], summed[1]))
    sides[0][l] = sides[1][r] = next(utils::IteratorType::reduction);
  for (auto &side : sides)
    for (AffineExpr &e : side)
      if (!e)
        out.push_back(e = next(utils::IteratorType::parallel));
  if (int64_t(out.size()) != rank() || !isa<FloatType>(element()))
    return {};
  // Sums of 16-bit types are in f32, as act.matmul's are.
  Type sum =
      element().getIntOrFloatBitWidth() == 16 ? b.getF32Type() : element();
  auto wide = RankedTensorType::get(type().getShape(), sum);
  Value zero = linalg::FillOp::create(b, loc, ValueRange(number(sum, 0)),
                                      ValueRange(empty(wide)))
                   .getResult(0);
  SmallVector<AffineMap> maps;
  for (ArrayRef<AffineExpr> exprs :
       {ArrayRef(sides[0]), ArrayRef(sides[1]), ArrayRef(out)})
    maps.push_back(AffineMap::get(dims, 0, exprs, op->getContext()));
  Value v =
      linalg::GenericOp::create(
          b, loc, TypeRange(wide), op->getOperands(), ValueRange(zero), maps,
          kinds,
          [&](OpBuilder &inner, Location at, ValueRange arguments) {
            auto asSum = [&](Value x) -> Value {
              return x.getType() == sum
                         ? x
                         : arith::ExtFOp::create(inner, at, sum, x);
            };
            Value m = arith::MulFOp::create(inner, at, asSum(arguments[0]),
                                            asSum(arguments[1]));
            linalg::YieldOp::create(
                inner, at,
                ValueRange(arith::AddFOp::create(inner, at, arguments[2], m)));
          })
          .getResult(0);
  if (sum == element())
    return v;
  return map(v, identity(), [&](OpBuilder &inner, ValueRange x) -> Value {
    return arith::TruncFOp::create(inner, loc, element(), x[0]);
  });
}

Value Lowering::converted() {
  Type from =
           cast<RankedTensorType>(op->getOperand(0).getType()).getElementType(),
       to = element();
  if (from == to)
    return op->getOperand(0);
  return elementwise([&](OpBuilder &inner, ValueRange v) {
    return act::castScalar(inner, loc, v[0], to);
  });
}

Value Lowering::compared() {
  StringRef how = textOf(attributeOf(op, "comparison_direction"));
  if (!how.consume_front("comparison_direction "))
    return {};
  struct Pair {
    arith::CmpFPredicate f;
    arith::CmpIPredicate i;
  };
  static const llvm::StringMap<Pair> known = {
      {"EQ", {arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq}},
      {"NE", {arith::CmpFPredicate::UNE, arith::CmpIPredicate::ne}},
      {"GE", {arith::CmpFPredicate::OGE, arith::CmpIPredicate::sge}},
      {"GT", {arith::CmpFPredicate::OGT, arith::CmpIPredicate::sgt}},
      {"LE", {arith::CmpFPredicate::OLE, arith::CmpIPredicate::sle}},
      {"LT", {arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt}}};
  auto found = known.find(how);
  if (found == known.end())
    return {};
  return elementwise([&](OpBuilder &inner, ValueRange v) -> Value {
    if (isa<FloatType>(v[0].getType()))
      return arith::CmpFOp::create(inner, loc, found->second.f, v[0], v[1]);
    return arith::CmpIOp::create(inner, loc, found->second.i, v[0], v[1]);
  });
}

Value Lowering::sliced() {
  auto starts = integersOf(op, "start_indices"),
       strides = integersOf(op, "strides");
  const size_t dims = rank();
  if (!starts || !strides || starts->size() != dims ||
      strides->size() != dims ||
      cast<RankedTensorType>(op->getOperand(0).getType()).getRank() != rank())
    return {};
  auto attributes = [&](ArrayRef<int64_t> numbers) {
    SmallVector<OpFoldResult> all;
    for (int64_t n : numbers)
      all.push_back(b.getIndexAttr(n));
    return all;
  };
  return tensor::ExtractSliceOp::create(
      b, loc, type(), op->getOperand(0), attributes(*starts),
      attributes(type().getShape()), attributes(*strides));
}

Value Lowering::counted() {
  auto along = dyn_cast_or_null<IntegerAttr>(attributeOf(op, "iota_dimension"));
  if (!along || along.getInt() < 0 || along.getInt() >= rank())
    return {};
  return map({}, {}, [&](OpBuilder &inner, ValueRange) -> Value {
    const bool isFloat = isa<FloatType>(element());
    Value i = linalg::IndexOp::create(inner, loc, along.getInt());
    i = arith::IndexCastOp::create(inner, loc,
                                   isFloat ? inner.getI64Type() : element(), i);
    if (isFloat)
      i = arith::SIToFPOp::create(inner, loc, element(), i);
    return i;
  });
}

Value Lowering::reshaped() {
  return act::reshapedTensor(b, loc, op->getOperand(0), type());
}

/// 1 - erf(x)
Value Lowering::erfc() {
  if (!isa<FloatType>(element()))
    return {};
  return elementwise([&](OpBuilder &inner, ValueRange v) -> Value {
    Value one =
        arith::ConstantOp::create(inner, loc, inner.getFloatAttr(element(), 1));
    return arith::SubFOp::create(inner, loc, one,
                                 math::ErfOp::create(inner, loc, v[0]));
  });
}

Value Lowering::squared() {
  if (!isa<FloatType>(element()))
    return {};
  return elementwise([&](OpBuilder &inner, ValueRange v) -> Value {
    return arith::MulFOp::create(inner, loc, v[0], v[0]);
  });
}

/// max(low, min(x, high))
Value Lowering::clamped() {
  const bool isFloat = isa<FloatType>(element());
  return elementwise([&](OpBuilder &inner, ValueRange v) -> Value {
    if (isFloat)
      return arith::MaximumFOp::create(
          inner, loc, v[0], arith::MinimumFOp::create(inner, loc, v[1], v[2]));
    return arith::MaxSIOp::create(
        inner, loc, v[0], arith::MinSIOp::create(inner, loc, v[1], v[2]));
  });
}

/// 1, -1, or x itself where it is 0 or no number.
Value Lowering::signed_() {
  if (!isa<FloatType>(element()))
    return {};
  return elementwise([&](OpBuilder &inner, ValueRange v) -> Value {
    Value zero = arith::ConstantOp::create(inner, loc,
                                           inner.getFloatAttr(element(), 0)),
          one = arith::ConstantOp::create(inner, loc,
                                          inner.getFloatAttr(element(), 1));
    Value differs = arith::CmpFOp::create(inner, loc, arith::CmpFPredicate::ONE,
                                          v[0], zero);
    return arith::SelectOp::create(
        inner, loc, differs, math::CopySignOp::create(inner, loc, one, v[0]),
        v[0]);
  });
}

Value Lowering::isFinite() {
  return elementwise([&](OpBuilder &inner, ValueRange v) -> Value {
    auto type = dyn_cast<FloatType>(v[0].getType());
    Value least = arith::ConstantOp::create(
        inner, loc,
        FloatAttr::get(type, llvm::APFloat::getInf(type.getFloatSemantics())));
    return arith::CmpFOp::create(inner, loc, arith::CmpFPredicate::OLT,
                                 math::AbsFOp::create(inner, loc, v[0]), least);
  });
}

Value Lowering::inverted() {
  return elementwise([&](OpBuilder &inner, ValueRange v) -> Value {
    Value ones = arith::ConstantOp::create(inner, loc,
                                           inner.getIntegerAttr(element(), -1));
    return arith::XOrIOp::create(inner, loc, v[0], ones);
  });
}

/// The shape that it is given is that of the result.
Value Lowering::dynamicallyCounted() {
  op->setOperands({});
  return counted();
}

Value Lowering::logistic() {
  if (!isa<FloatType>(element()))
    return {};
  return elementwise([&](OpBuilder &inner, ValueRange v) -> Value {
    Value one =
        arith::ConstantOp::create(inner, loc, inner.getFloatAttr(element(), 1));
    Value minus = arith::NegFOp::create(inner, loc, v[0]);
    Value e = math::ExpOp::create(inner, loc, minus);
    Value sum = arith::AddFOp::create(inner, loc, one, e);
    return arith::DivFOp::create(inner, loc, one, sum);
  });
}

Value Lowering::concatenated() {
  auto along = dyn_cast_or_null<IntegerAttr>(attributeOf(op, "dimension"));
  return along && along.getInt() >= 0 && along.getInt() < rank()
             ? tensor::ConcatOp::create(b, loc, type(), along.getInt(),
                                        op->getOperands())
                   .getResult()
             : Value();
}

/// A tensor of a type that arith computes.
static bool isKnown(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() &&
         (isa<FloatType>(tensor.getElementType()) ||
          tensor.getElementType().isSignlessInteger());
}

/// What each op means. Of booleans, a sum is `or` and a product `and`.
const llvm::StringMap<Lowering::Rule> &Lowering::table() {
  static const auto *all = new llvm::StringMap<Rule>{
      {"abs", {&Lowering::ofFloats<math::AbsFOp>, 1}},
      {"add",
       {&Lowering::either<arith::AddFOp, arith::AddIOp, arith::OrIOp>, 2}},
      {"and", {&Lowering::ofBooleans<arith::AndIOp>, 2}},
      {"broadcast_in_dim", {&Lowering::broadcast, 1}},
      {"ceil", {&Lowering::ofFloats<math::CeilOp>, 1}},
      {"chlo.erf", {&Lowering::ofFloats<math::ErfOp>, 1}},
      {"chlo.erfc", {&Lowering::erfc, 1}},
      {"chlo.square", {&Lowering::squared, 1}},
      {"clamp", {&Lowering::clamped, 3}},
      {"compare", {&Lowering::compared, 2}},
      {"concatenate", {&Lowering::concatenated, anyCount}},
      {"constant", {&Lowering::constant, 0}},
      {"convert", {&Lowering::converted, 1}},
      {"convolution", {&Lowering::convolved, 2}},
      {"cosine", {&Lowering::ofFloats<math::CosOp>, 1}},
      {"divide", {&Lowering::either<arith::DivFOp, arith::DivSIOp>, 2}},
      {"dot_general", {&Lowering::product, 2}},
      {"dynamic_iota", {&Lowering::dynamicallyCounted, 1}},
      {"exponential", {&Lowering::ofFloats<math::ExpOp>, 1}},
      {"exponential_minus_one", {&Lowering::ofFloats<math::ExpM1Op>, 1}},
      {"floor", {&Lowering::ofFloats<math::FloorOp>, 1}},
      {"gather", {&Lowering::gathered, 2}},
      {"iota", {&Lowering::counted, 0}},
      {"is_finite", {&Lowering::isFinite, 1}},
      {"log", {&Lowering::ofFloats<math::LogOp>, 1}},
      {"log_plus_one", {&Lowering::ofFloats<math::Log1pOp>, 1}},
      {"logistic", {&Lowering::logistic, 1}},
      {"maximum", {&Lowering::either<arith::MaximumFOp, arith::MaxSIOp>, 2}},
      {"minimum", {&Lowering::either<arith::MinimumFOp, arith::MinSIOp>, 2}},
      {"multiply",
       {&Lowering::either<arith::MulFOp, arith::MulIOp, arith::AndIOp>, 2}},
      {"negate", {&Lowering::ofFloats<arith::NegFOp>, 1}},
      {"not", {&Lowering::inverted, 1}},
      {"or", {&Lowering::ofBooleans<arith::OrIOp>, 2}},
      {"pad", {&Lowering::padded, 2}},
      {"power", {&Lowering::ofFloats<math::PowFOp>, 2}},
      {"reduce", {&Lowering::reduced, 2}},
      {"reduce_window", {&Lowering::windowReduced, 2}},
      {"remainder", {&Lowering::either<arith::RemFOp, arith::RemSIOp>, 2}},
      {"reshape", {&Lowering::reshaped, 1}},
      {"rsqrt", {&Lowering::ofFloats<math::RsqrtOp>, 1}},
      {"select", {&Lowering::simple<arith::SelectOp>, 3}},
      {"sign", {&Lowering::signed_, 1}},
      {"sine", {&Lowering::ofFloats<math::SinOp>, 1}},
      {"slice", {&Lowering::sliced, 1}},
      {"sqrt", {&Lowering::ofFloats<math::SqrtOp>, 1}},
      {"subtract", {&Lowering::either<arith::SubFOp, arith::SubIOp>, 2}},
      {"tanh", {&Lowering::ofFloats<math::TanhOp>, 1}},
      {"transpose", {&Lowering::transposed, 1}},
  };
  return *all;
}

Value Lowering::run() {
  auto found = table().find(name);
  if (found == table().end() || op->getNumResults() != 1 ||
      (found->second.operands == anyCount
           ? op->getNumOperands() == 0
           : int(op->getNumOperands()) != found->second.operands) ||
      op->getNumRegions() > 1 || !llvm::all_of(op->getResultTypes(), isKnown) ||
      !llvm::all_of(op->getOperandTypes(), isKnown))
    return {};
  return (this->*found->second.make)();
}

LogicalResult act::lowerStableHlo(func::FuncOp function) {
  SmallVector<Operation *> ops;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    if (dialect != "stablehlo" && dialect != "chlo")
      return WalkResult::advance();
    ops.push_back(op);
    return WalkResult::skip(); // a reduction's body belongs to it
  });
  for (Operation *op : ops) {
    Operation *before = op->getPrevNode();
    Value v = Lowering(op).run();
    if (!v || v.getType() != op->getResult(0).getType())
      return op->emitError()
             << "'" << op->getName() << "' is not known, or not in this form";
    // Numbers that do not fit are found by what they make.
    for (Operation *made = before ? before->getNextNode()
                                  : &op->getBlock()->front();
         made != op; made = made->getNextNode())
      if (failed(verify(made)))
        return failure();
    op->getResult(0).replaceAllUsesWith(v);
    op->erase();
  }
  return success();
}
