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
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace {

/// An attribute of an op of no known dialect: of its properties, or of itself.
Attribute attributeOf(Operation *op, StringRef name) {
  if (Attribute own = op->getDiscardableAttr(name))
    return own;
  auto properties =
      dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute());
  return properties ? properties.get(name) : Attribute();
}

std::optional<SmallVector<int64_t>> integersOf(Operation *op, StringRef name) {
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

/// The integers behind `name = ` in an opaque attribute's text; none where it
/// is not named, as empty lists are not printed.
SmallVector<int64_t> integersIn(StringRef text, StringRef name) {
  SmallVector<int64_t> all;
  auto [before, list] = text.split((name + " = [").str());
  for (StringRef part : llvm::split(list.split(']').first, ',')) {
    int64_t n;
    if (!part.trim().getAsInteger(10, n))
      all.push_back(n);
  }
  return all;
}

StringRef textOf(Attribute attribute) {
  auto opaque = dyn_cast_or_null<OpaqueAttr>(attribute);
  return opaque ? opaque.getAttrData() : StringRef();
}

/// Rewrites one op.
class Lowering {
public:
  explicit Lowering(Operation *op)
      : op(op), b(op), loc(op->getLoc()),
        name(op->getName().getStringRef().drop_front(strlen("stablehlo."))) {}

  /// The value that the result becomes; null if the op is not known.
  Value run();

private:
  RankedTensorType type() {
    return cast<RankedTensorType>(op->getResult(0).getType());
  }
  Type element() { return type().getElementType(); }
  int64_t rank() { return type().getRank(); }
  AffineMap identity() { return b.getMultiDimIdentityMap(rank()); }
  Value empty(RankedTensorType type) {
    return tensor::EmptyOp::create(b, loc, type.getShape(),
                                   type.getElementType());
  }
  Value number(Type type, double value) {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  }

  using Body = function_ref<Value(OpBuilder &, ValueRange)>;
  /// One scalar from one of each operand, which these maps read.
  Value map(ValueRange operands, ArrayRef<AffineMap> maps, Body body) {
    SmallVector<AffineMap> all(maps);
    all.push_back(identity());
    return linalg::GenericOp::create(
               b, loc, TypeRange(type()), operands, ValueRange(empty(type())),
               all,
               SmallVector<utils::IteratorType>(rank(),
                                                utils::IteratorType::parallel),
               [&](OpBuilder &inner, Location at, ValueRange arguments) {
                 linalg::YieldOp::create(inner, at,
                                         body(inner, arguments.drop_back()));
               })
        .getResult(0);
  }
  Value elementwise(Body body) {
    SmallVector<AffineMap> maps;
    for (Value v : op->getOperands())
      // A condition may be one for all.
      maps.push_back(cast<RankedTensorType>(v.getType()).getRank() || !rank()
                         ? identity()
                         : AffineMap::get(rank(), 0, op->getContext()));
    return map(op->getOperands(), maps, body);
  }
  template <typename Op> Value simple() {
    return elementwise([&](OpBuilder &inner, ValueRange v) -> Value {
      return Op::create(inner, loc, v);
    });
  }

  template <typename Op> Value ofFloats() {
    return isa<FloatType>(element()) ? simple<Op>() : Value();
  }
  template <typename Op> Value ofBooleans() {
    return element().isInteger(1) ? simple<Op>() : Value();
  }
  /// Of floats and of integers, and of booleans if they differ.
  template <typename F, typename I, typename B = I> Value either() {
    return isa<FloatType>(element()) ? simple<F>()
           : element().isInteger(1)  ? simple<B>()
                                     : simple<I>();
  }

  static const llvm::StringMap<Value (Lowering::*)()> &table();
  Value logistic();
  Value concatenated();
  Value constant();
  Value broadcast();
  Value transposed();
  Value product();
  Value reduced();
  Value converted();
  Value compared();
  Value sliced();
  Value counted();
  Value reshaped();
  Value gathered();

  Operation *op;
  OpBuilder b;
  Location loc;
  StringRef name;
};

Value Lowering::constant() {
  auto value = dyn_cast_or_null<ElementsAttr>(attributeOf(op, "value"));
  return value ? arith::ConstantOp::create(b, loc, type(), value).getResult()
               : Value();
}

Value Lowering::broadcast() {
  auto dims = integersOf(op, "broadcast_dimensions");
  auto from = cast<RankedTensorType>(op->getOperand(0).getType());
  if (!dims || int64_t(dims->size()) != from.getRank())
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
  if (!permutation)
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

Value Lowering::reduced() {
  auto along = integersOf(op, "dimensions");
  if (!along || op->getNumOperands() != 2 || op->getNumRegions() != 1 ||
      !llvm::hasSingleElement(op->getRegion(0)) || !isa<FloatType>(element()))
    return {};
  Block &body = op->getRegion(0).front();
  if (!llvm::hasNItems(body, 2) || body.getNumArguments() != 2)
    return {};
  StringRef combiner = body.front().getName().getStringRef();
  if (combiner != "stablehlo.add" && combiner != "stablehlo.maximum" &&
      combiner != "stablehlo.minimum")
    return {};
  Value start =
      tensor::ExtractOp::create(b, loc, op->getOperand(1), ValueRange());
  // As a number where it is one.
  if (auto c = op->getOperand(1).getDefiningOp<arith::ConstantOp>())
    if (auto splat = dyn_cast<DenseFPElementsAttr>(c.getValue()))
      start =
          arith::ConstantOp::create(b, loc, splat.getSplatValue<FloatAttr>());
  Value init = linalg::FillOp::create(b, loc, ValueRange(start),
                                      ValueRange(empty(type())))
                   .getResult(0);
  return linalg::ReduceOp::create(
             b, loc, ValueRange(op->getOperand(0)), ValueRange(init), *along,
             [&](OpBuilder &inner, Location at, ValueRange v) {
               Value r;
               if (combiner == "stablehlo.add")
                 r = arith::AddFOp::create(inner, at, v[0], v[1]);
               else if (combiner == "stablehlo.maximum")
                 r = arith::MaximumFOp::create(inner, at, v[0], v[1]);
               else
                 r = arith::MinimumFOp::create(inner, at, v[0], v[1]);
               linalg::YieldOp::create(inner, at, ValueRange(r));
             })
      ->getResult(0);
}

Value Lowering::converted() {
  Type from =
           cast<RankedTensorType>(op->getOperand(0).getType()).getElementType(),
       to = element();
  if (from == to)
    return op->getOperand(0);
  if (to.isInteger(1)) // whether it is another number than 0
    return elementwise([&](OpBuilder &inner, ValueRange v) -> Value {
      Value zero =
          arith::ConstantOp::create(inner, loc, inner.getZeroAttr(from));
      if (isa<FloatType>(from))
        return arith::CmpFOp::create(inner, loc, arith::CmpFPredicate::UNE,
                                     v[0], zero);
      return arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::ne, v[0],
                                   zero);
    });
  const unsigned narrow = from.getIntOrFloatBitWidth(),
                 wide = to.getIntOrFloatBitWidth();
  if (isa<FloatType>(from) && isa<FloatType>(to) && narrow == wide)
    return {};
  return elementwise([&](OpBuilder &inner, ValueRange v) -> Value {
    if (isa<FloatType>(from) && isa<FloatType>(to))
      return narrow < wide
                 ? arith::ExtFOp::create(inner, loc, to, v[0]).getResult()
                 : arith::TruncFOp::create(inner, loc, to, v[0]).getResult();
    if (isa<FloatType>(to))
      return from.isInteger(1)
                 ? arith::UIToFPOp::create(inner, loc, to, v[0]).getResult()
                 : arith::SIToFPOp::create(inner, loc, to, v[0]).getResult();
    if (isa<FloatType>(from))
      return arith::FPToSIOp::create(inner, loc, to, v[0]);
    if (narrow > wide)
      return arith::TruncIOp::create(inner, loc, to, v[0]);
    return from.isInteger(1)
               ? arith::ExtUIOp::create(inner, loc, to, v[0]).getResult()
               : arith::ExtSIOp::create(inner, loc, to, v[0]).getResult();
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
  if (!starts || !strides)
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
  if (!along)
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

/// Rows of a table: ids are of the table's first dimension, and a row is all of
/// the others. An id outside is clamped, as act.embedding does.
Value Lowering::gathered() {
  StringRef text = textOf(attributeOf(op, "dimension_numbers"));
  auto sizes = integersOf(op, "slice_sizes");
  if (!text.starts_with("gather<") || !sizes || op->getNumOperands() != 2)
    return {};
  auto table = cast<RankedTensorType>(op->getOperand(0).getType()),
       ids = cast<RankedTensorType>(op->getOperand(1).getType());
  auto is = [&](StringRef list, ArrayRef<int64_t> numbers) {
    return ArrayRef(integersIn(text, list)) == numbers;
  };
  auto [before, vectorDim] = text.split("index_vector_dim = ");
  const int64_t last = ids.getRank() - 1;
  if (table.getRank() != 2 || !isa<FloatType>(element()) || last < 0 ||
      ids.getDimSize(last) != 1 || !is("offset_dims", {rank() - 1}) ||
      !is("collapsed_slice_dims", {0}) || !is("start_index_map", {0}) ||
      !is("operand_batching_dims", {}) ||
      vectorDim.take_while(llvm::isDigit) != std::to_string(last) ||
      *sizes != SmallVector<int64_t>{1, table.getDimSize(1)} ||
      !(ids.getElementType().isInteger(32) ||
        ids.getElementType().isInteger(64)))
    return {};
  SmallVector<int64_t> shape(ids.getShape().drop_back());
  Value rows = act::ReshapeOp::create(
      b, loc, RankedTensorType::get(shape, ids.getElementType()),
      op->getOperand(1));
  return act::EmbeddingOp::create(b, loc, type(), op->getOperand(0), rows,
                                  IntegerAttr());
}

Value Lowering::reshaped() {
  Value v = op->getOperand(0);
  auto from = cast<RankedTensorType>(v.getType());
  if (from == type())
    return v;
  // One reshape where dimensions are split or merged, else two.
  auto step = [&](Value value, RankedTensorType to) -> Value {
    auto own = cast<RankedTensorType>(value.getType());
    auto groups = getReassociationIndicesForReshape(own, to);
    if (!groups)
      return {};
    return own.getRank() < to.getRank()
               ? tensor::ExpandShapeOp::create(b, loc, to, value, *groups)
                     .getResult()
               : tensor::CollapseShapeOp::create(b, loc, to, value, *groups)
                     .getResult();
  };
  if (Value direct = step(v, type()))
    return direct;
  return step(
      step(v, RankedTensorType::get({from.getNumElements()}, element())),
      type());
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
  return along ? tensor::ConcatOp::create(b, loc, type(), along.getInt(),
                                          op->getOperands())
                     .getResult()
               : Value();
}

/// A tensor of a type that arith computes.
bool isKnown(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() &&
         (isa<FloatType>(tensor.getElementType()) ||
          tensor.getElementType().isSignlessInteger());
}

/// What each op means. Of booleans, a sum is `or` and a product `and`.
const llvm::StringMap<Value (Lowering::*)()> &Lowering::table() {
  static const auto *all = new llvm::StringMap<Value (Lowering::*)()>{
      {"abs", &Lowering::ofFloats<math::AbsFOp>},
      {"add", &Lowering::either<arith::AddFOp, arith::AddIOp, arith::OrIOp>},
      {"and", &Lowering::ofBooleans<arith::AndIOp>},
      {"broadcast_in_dim", &Lowering::broadcast},
      {"compare", &Lowering::compared},
      {"concatenate", &Lowering::concatenated},
      {"constant", &Lowering::constant},
      {"convert", &Lowering::converted},
      {"cosine", &Lowering::ofFloats<math::CosOp>},
      {"divide", &Lowering::either<arith::DivFOp, arith::DivSIOp>},
      {"dot_general", &Lowering::product},
      {"exponential", &Lowering::ofFloats<math::ExpOp>},
      {"gather", &Lowering::gathered},
      {"iota", &Lowering::counted},
      {"log", &Lowering::ofFloats<math::LogOp>},
      {"logistic", &Lowering::logistic},
      {"maximum", &Lowering::either<arith::MaximumFOp, arith::MaxSIOp>},
      {"minimum", &Lowering::either<arith::MinimumFOp, arith::MinSIOp>},
      {"multiply",
       &Lowering::either<arith::MulFOp, arith::MulIOp, arith::AndIOp>},
      {"negate", &Lowering::ofFloats<arith::NegFOp>},
      {"or", &Lowering::ofBooleans<arith::OrIOp>},
      {"power", &Lowering::ofFloats<math::PowFOp>},
      {"reduce", &Lowering::reduced},
      {"reshape", &Lowering::reshaped},
      {"rsqrt", &Lowering::ofFloats<math::RsqrtOp>},
      {"select", &Lowering::simple<arith::SelectOp>},
      {"sine", &Lowering::ofFloats<math::SinOp>},
      {"slice", &Lowering::sliced},
      {"sqrt", &Lowering::ofFloats<math::SqrtOp>},
      {"subtract", &Lowering::either<arith::SubFOp, arith::SubIOp>},
      {"tanh", &Lowering::ofFloats<math::TanhOp>},
      {"transpose", &Lowering::transposed},
  };
  return *all;
}

Value Lowering::run() {
  auto found = table().find(name);
  if (found == table().end() || op->getNumResults() != 1 ||
      !llvm::all_of(op->getResultTypes(), isKnown) ||
      !llvm::all_of(op->getOperandTypes(), isKnown))
    return {};
  return (this->*found->second)();
}

} // namespace

LogicalResult act::lowerStableHlo(func::FuncOp function) {
  SmallVector<Operation *> ops;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getName().getDialectNamespace() != "stablehlo")
      return WalkResult::advance();
    ops.push_back(op);
    return WalkResult::skip(); // a reduction's body belongs to it
  });
  for (Operation *op : ops) {
    Value v = Lowering(op).run();
    if (!v)
      return op->emitError()
             << "'" << op->getName() << "' is not known, or not in this form";
    op->getResult(0).replaceAllUsesWith(v);
    op->erase();
  }
  return success();
}
