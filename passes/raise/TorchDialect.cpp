// SPDX-License-Identifier: Apache-2.0
//
// The table of the torch dialect's ops, which are PyTorch's ATen operators
// (pytorch.org/docs/stable/torch.compiler_ir.html), by what each means. Operands
// that are numbers, lists or words are constants.
#include "passes/raise/TorchDialect.h"
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/raise/Maker.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace act;

namespace {

/// `vtensor<[2,3],f32>`; null for what is no tensor of static shape.
RankedTensorType tensorTypeOf(Type type) {
  auto opaque = dyn_cast<OpaqueType>(type);
  if (!opaque || opaque.getDialectNamespace() != "torch")
    return {};
  StringRef text = opaque.getTypeData();
  if (!text.consume_front("vtensor<[") || !text.consume_back(">"))
    return {};
  auto [list, element] = text.split("],");
  SmallVector<int64_t> shape;
  SmallVector<StringRef> sizes;
  list.split(sizes, ',', -1, /*KeepEmpty=*/false);
  for (StringRef size : sizes) {
    int64_t n;
    if (size.trim().getAsInteger(10, n) || n < 0)
      return {};
    shape.push_back(n);
  }
  MLIRContext *context = type.getContext();
  Type of = llvm::StringSwitch<Type>(element)
                .Case("f32", Float32Type::get(context))
                .Case("f64", Float64Type::get(context))
                .Case("f16", Float16Type::get(context))
                .Case("bf16", BFloat16Type::get(context))
                .Case("si64", IntegerType::get(context, 64))
                .Case("si32", IntegerType::get(context, 32))
                .Case("i1", IntegerType::get(context, 1))
                .Default(Type());
  return of ? RankedTensorType::get(shape, of) : RankedTensorType();
}

/// What is no tensor.
struct Constant {
  std::optional<double> number; ///< also of booleans; none: nothing, or a word
  std::string word;
};

class Function {
public:
  explicit Function(func::FuncOp function) : function(function) {}
  LogicalResult lower();

private:
  using Rule = Value (Function::*)();
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
  Value scalar(Type of, double n) {
    if (isa<FloatType>(of))
      return arith::ConstantOp::create(*b, loc, b->getFloatAttr(of, n));
    return arith::ConstantOp::create(*b, loc, b->getIntegerAttr(of, int64_t(n)));
  }
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
  /// A number in another type, as PyTorch promotes it.
  static Value cast_(OpBuilder &b, Location loc, Value v, Type to) {
    Type from = v.getType();
    if (from == to)
      return v;
    const unsigned narrow = from.getIntOrFloatBitWidth(),
                   wide = to.getIntOrFloatBitWidth();
    if (isa<FloatType>(from) && isa<FloatType>(to)) {
      if (narrow < wide)
        return arith::ExtFOp::create(b, loc, to, v);
      if (narrow > wide)
        return arith::TruncFOp::create(b, loc, to, v);
      return arith::TruncFOp::create(
          b, loc, to, arith::ExtFOp::create(b, loc, b.getF32Type(), v));
    }
    if (to.isInteger(1)) {
      Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(from));
      if (isa<FloatType>(from))
        return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, v,
                                     zero);
      return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, v, zero);
    }
    if (isa<FloatType>(to))
      return from.isInteger(1)
                 ? arith::UIToFPOp::create(b, loc, to, v).getResult()
                 : arith::SIToFPOp::create(b, loc, to, v).getResult();
    if (isa<FloatType>(from))
      return arith::FPToSIOp::create(b, loc, to, v);
    if (narrow > wide)
      return arith::TruncIOp::create(b, loc, to, v);
    return from.isInteger(1)
               ? arith::ExtUIOp::create(b, loc, to, v).getResult()
               : arith::ExtSIOp::create(b, loc, to, v).getResult();
  }
  Value casted(Value v) {
    return elementwise(v, [&](OpBuilder &inner, ValueRange x) {
      return cast_(inner, loc, x[0], element());
    });
  }

  // Rules.
  template <typename Op> Value unary() {
    Value x = tensor(0);
    if (!x || !isa<FloatType>(element()))
      return {};
    return elementwise(x, [&](OpBuilder &inner, ValueRange v) -> Value {
      return Op::create(inner, loc, cast_(inner, loc, v[0], element()));
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
        sides[i] = numbers[i]
                       ? arith::ConstantOp::create(
                             inner, loc,
                             isa<FloatType>(of)
                                 ? TypedAttr(inner.getFloatAttr(of, *numbers[i]))
                                 : TypedAttr(inner.getIntegerAttr(
                                       of, int64_t(*numbers[i]))))
                             .getResult()
                       : cast_(inner, loc, v[next++], of);
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

Value Function::inverted() {
  Value x = tensor(0);
  if (!x || !element().isInteger(1))
    return {};
  return elementwise(x, [&](OpBuilder &inner, ValueRange v) -> Value {
    Value one = arith::ConstantOp::create(inner, loc, inner.getBoolAttr(true));
    return arith::XOrIOp::create(
        inner, loc, cast_(inner, loc, v[0], element()), one);
  });
}

Value Function::chosen() {
  if (!tensor(0))
    return {};
  SmallVector<Value> operands{tensor(0)};
  for (unsigned i : {1u, 2u}) {
    if (tensor(i))
      operands.push_back(tensor(i));
    else if (!number(i))
      return {};
  }
  return elementwise(operands, [&](OpBuilder &inner, ValueRange v) -> Value {
    unsigned next = 1;
    Value sides[2];
    for (unsigned i : {1u, 2u})
      sides[i - 1] =
          tensor(i) ? cast_(inner, loc, v[next++], element())
                    : arith::ConstantOp::create(
                          inner, loc,
                          isa<FloatType>(element())
                              ? TypedAttr(inner.getFloatAttr(element(),
                                                             *number(i)))
                              : TypedAttr(inner.getIntegerAttr(
                                    element(), int64_t(*number(i)))))
                          .getResult();
    return arith::SelectOp::create(inner, loc, v[0], sides[0], sides[1]);
  });
}

// As torch-mlir lowers it: at 0, the derivative is 0.
Value Function::relu() {
  Value x = tensor(0);
  if (!x || !isa<FloatType>(element()))
    return {};
  return elementwise(x, [&](OpBuilder &inner, ValueRange v) -> Value {
    Value zero = arith::ConstantOp::create(inner, loc,
                                           inner.getFloatAttr(element(), 0));
    Value isAbove = arith::CmpFOp::create(
        inner, loc, arith::CmpFPredicate::UGT, v[0], zero);
    return arith::SelectOp::create(inner, loc, isAbove, v[0], zero);
  });
}

Value Function::sigmoid() {
  Value x = tensor(0);
  if (!x || !isa<FloatType>(element()))
    return {};
  return elementwise(x, [&](OpBuilder &inner, ValueRange v) -> Value {
    Value one = arith::ConstantOp::create(inner, loc,
                                          inner.getFloatAttr(element(), 1));
    Value e = math::ExpOp::create(inner, loc,
                                  arith::NegFOp::create(inner, loc, v[0]));
    return arith::DivFOp::create(inner, loc, one,
                                 arith::AddFOp::create(inner, loc, e, one));
  });
}

Value Function::silu() {
  Value x = tensor(0);
  return x && isActType(type())
             ? SiluOp::create(*b, loc, type(), x).getResult()
             : Value();
}

Value Function::gelu() {
  Value x = tensor(0);
  auto found = count() > 1 ? constants.find(op->getOperand(1)) : constants.end();
  if (!x || !isActType(type()))
    return {};
  StringRef how = found == constants.end() ? "none" : found->second.word;
  if (how == "tanh")
    return GeluNewOp::create(*b, loc, type(), x);
  return how == "none" ? GeluOp::create(*b, loc, type(), x).getResult()
                       : Value();
}

Value Function::reshaped() {
  Value x = tensor(0);
  return x && typeOf(x).getNumElements() == type().getNumElements()
             ? reshapedTensor(*b, loc, x, type())
             : Value();
}

Value Function::permuted() {
  auto order = integers(1);
  if (!tensor(0) || !order)
    return {};
  for (int64_t &d : *order)
    d += d < 0 ? type().getRank() : 0;
  return linalg::TransposeOp::create(*b, loc, tensor(0), empty(type()), *order)
      ->getResult(0);
}

Value Function::swapped() {
  auto first = dimension(1, type().getRank()),
       second = dimension(2, type().getRank());
  if (!tensor(0) || !first || !second)
    return {};
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(type().getRank()));
  std::swap(order[*first], order[*second]);
  return linalg::TransposeOp::create(*b, loc, tensor(0), empty(type()), order)
      ->getResult(0);
}

Value Function::turned() {
  if (!tensor(0))
    return {};
  if (type().getRank() < 2)
    return tensor(0);
  return linalg::TransposeOp::create(*b, loc, tensor(0), empty(type()),
                                     ArrayRef<int64_t>{1, 0})
      ->getResult(0);
}

Value Function::repeated() {
  Value x = tensor(0);
  return x ? elementwise(x, [](OpBuilder &, ValueRange v) { return v[0]; })
           : Value();
}

Value Function::joined() {
  auto found = lists.find(op->getOperand(0));
  auto along = dimension(1, type().getRank());
  if (found == lists.end() || !along)
    return {};
  SmallVector<Value> parts;
  for (Value v : found->second)
    parts.push_back(tensors.lookup(v));
  if (llvm::is_contained(parts, Value()))
    return {};
  return tensor::ConcatOp::create(*b, loc, type(), *along, parts);
}

Value Function::sliced() {
  Value x = tensor(0);
  auto along = dimension(1, type().getRank());
  auto step = integer(4);
  if (!x || !along || !step || *step < 1)
    return {};
  const int64_t size = typeOf(x).getDimSize(*along);
  int64_t begin = integer(2).value_or(0);
  if (begin < 0)
    begin += size;
  begin = std::clamp<int64_t>(begin, 0, size);
  SmallVector<OpFoldResult> offsets, sizes, strides;
  for (int64_t d = 0; d < type().getRank(); ++d) {
    offsets.push_back(b->getIndexAttr(d == *along ? begin : 0));
    sizes.push_back(b->getIndexAttr(type().getDimSize(d)));
    strides.push_back(b->getIndexAttr(d == *along ? *step : 1));
  }
  return tensor::ExtractSliceOp::create(*b, loc, type(), x, offsets, sizes,
                                        strides);
}

Value Function::selected() {
  Value x = tensor(0);
  auto along = x ? dimension(1, typeOf(x).getRank()) : std::nullopt;
  auto at = integer(2);
  if (!along || !at)
    return {};
  SmallVector<int64_t> shape(typeOf(x).getShape());
  if (*at < 0)
    *at += shape[*along];
  if (*at < 0 || *at >= shape[*along])
    return {};
  shape[*along] = 1;
  SmallVector<OpFoldResult> offsets, sizes, strides;
  for (auto [d, size] : llvm::enumerate(shape)) {
    offsets.push_back(b->getIndexAttr(d == *along ? *at : 0));
    sizes.push_back(b->getIndexAttr(size));
    strides.push_back(b->getIndexAttr(1));
  }
  Value part = tensor::ExtractSliceOp::create(
      *b, loc, RankedTensorType::get(shape, element()), x, offsets, sizes,
      strides);
  return reshapedTensor(*b, loc, part, type());
}

/// start + i * step, for arange of (end), (start, end) or (start, end, step)
Value Function::counted() {
  StringRef name = op->getName().getStringRef();
  const bool hasStart = name.contains(".start"), hasStep = name.contains("step");
  auto start = hasStart ? number(0) : 0.0, step = hasStep ? number(2) : 1.0;
  if (!start || !step || type().getRank() != 1)
    return {};
  return elementwise({}, [&](OpBuilder &inner, ValueRange) -> Value {
    Value i = linalg::IndexOp::create(inner, loc, 0);
    Type wide = inner.getI64Type();
    i = arith::IndexCastOp::create(inner, loc, wide, i);
    const bool isFloat = isa<FloatType>(element());
    i = cast_(inner, loc, i, element());
    auto at = [&](double n) -> Value {
      return arith::ConstantOp::create(
          inner, loc,
          isFloat ? TypedAttr(inner.getFloatAttr(element(), n))
                  : TypedAttr(inner.getIntegerAttr(element(), int64_t(n))));
    };
    if (*step != 1)
      i = isFloat ? arith::MulFOp::create(inner, loc, i, at(*step)).getResult()
                  : arith::MulIOp::create(inner, loc, i, at(*step)).getResult();
    if (*start != 0)
      i = isFloat
              ? arith::AddFOp::create(inner, loc, i, at(*start)).getResult()
              : arith::AddIOp::create(inner, loc, i, at(*start)).getResult();
    return i;
  });
}

Value Function::fullOf() {
  auto n = number(1);
  return n ? filled(type(), *n) : Value();
}

Value Function::literal() {
  auto properties =
      dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute());
  Attribute value = properties ? properties.get("value") : op->getAttr("value");
  auto dense = dyn_cast_or_null<DenseElementsAttr>(value);
  if (!dense || dense.getType().getShape() != type().getShape())
    return {};
  // Its integers are signed, arith's have no sign.
  if (isa<IntegerType>(element()) && !element().isInteger(1))
    dense = dense.bitcast(element());
  return dense.getElementType() == element()
             ? arith::ConstantOp::create(*b, loc, dense).getResult()
             : Value();
}

template <typename F, typename I>
Value Function::reducedBy(Value x, ArrayRef<int64_t> dims, double start) {
  auto from = typeOf(x);
  SmallVector<int64_t> along, shape;
  for (int64_t d : dims)
    along.push_back(d < 0 ? d + from.getRank() : d);
  if (dims.empty())
    along = llvm::to_vector(llvm::seq<int64_t>(from.getRank()));
  llvm::sort(along);
  for (int64_t d = 0; d < from.getRank(); ++d)
    if (!llvm::is_contained(along, d))
      shape.push_back(from.getDimSize(d));
  auto narrow = RankedTensorType::get(shape, element());
  if (from.getElementType() != element()) {
    auto own = result;
    result = RankedTensorType::get(from.getShape(), element());
    x = casted(x);
    result = own;
  }
  Value v = linalg::ReduceOp::create(
                *b, loc, ValueRange(x), ValueRange(filled(narrow, start)),
                along,
                [&](OpBuilder &inner, Location at, ValueRange v) {
                  Value sum = isa<FloatType>(element())
                                  ? F::create(inner, at, v[0], v[1]).getResult()
                                  : I::create(inner, at, v[0], v[1]).getResult();
                  linalg::YieldOp::create(inner, at, ValueRange(sum));
                })
                ->getResult(0);
  return reshapedTensor(*b, loc, v, type());
}

Value Function::summed() {
  auto along = isNone(1) ? SmallVector<int64_t>() : integers(1);
  return tensor(0) && along
             ? reducedBy<arith::AddFOp, arith::AddIOp>(tensor(0), *along, 0)
             : Value();
}

Value Function::summedAll() {
  return tensor(0)
             ? reducedBy<arith::AddFOp, arith::AddIOp>(tensor(0), {}, 0)
             : Value();
}

Value Function::mean() {
  const bool isWhole = op->getName().getStringRef() == "torch.aten.mean";
  auto along = isWhole || isNone(1) ? SmallVector<int64_t>() : integers(1);
  if (!tensor(0) || !along || !isa<FloatType>(element()))
    return {};
  Value sum = reducedBy<arith::AddFOp, arith::AddIOp>(tensor(0), *along, 0);
  const double size = double(typeOf(tensor(0)).getNumElements()) /
                      std::max<int64_t>(type().getNumElements(), 1);
  return elementwise(sum, [&](OpBuilder &inner, ValueRange v) -> Value {
    Value n = arith::ConstantOp::create(inner, loc,
                                        inner.getFloatAttr(element(), size));
    return arith::DivFOp::create(inner, loc, v[0], n);
  });
}

Value Function::greatest() {
  auto along = integers(1);
  if (!tensor(0) || !along || !isa<FloatType>(element()))
    return {};
  return reducedBy<arith::MaximumFOp, arith::MaxSIOp>(tensor(0), *along,
                                                      -INFINITY);
}

/// The first result: indices of the greatest are not read.
Value Function::greatestAlong() {
  auto along = integer(1);
  if (!tensor(0) || !along || !isa<FloatType>(element()) ||
      (op->getNumResults() > 1 && !op->getResult(1).use_empty()))
    return {};
  return reducedBy<arith::MaximumFOp, arith::MaxSIOp>(tensor(0), *along,
                                                      -INFINITY);
}

Value Function::allAlong() {
  auto along = integer(1);
  return tensor(0) && along && element().isInteger(1)
             ? reducedBy<arith::MinimumFOp, arith::AndIOp>(tensor(0), *along, 1)
             : Value();
}

/// Products of matrices in stacks, which repeat from the right.
Value Function::matmul(Value x, Value y) {
  auto left = typeOf(x), right = typeOf(y);
  if (left.getRank() < 2 || right.getRank() < 2 ||
      !isa<FloatType>(element()) || left.getElementType() != element() ||
      right.getElementType() != element())
    return {};
  const unsigned rank = std::max(left.getRank(), right.getRank());
  SmallVector<int64_t> shape(rank);
  auto b_ = *b;
  auto map = [&](RankedTensorType of, unsigned rows, unsigned columns) {
    SmallVector<AffineExpr> exprs;
    const unsigned own = of.getRank();
    for (unsigned i = 0; i + 2 < own; ++i) {
      const unsigned d = rank - own + i;
      exprs.push_back(of.getDimSize(i) == 1 ? b_.getAffineConstantExpr(0)
                                            : b_.getAffineDimExpr(d));
      shape[d] = std::max(shape[d], of.getDimSize(i));
    }
    exprs.push_back(b_.getAffineDimExpr(rows));
    exprs.push_back(b_.getAffineDimExpr(columns));
    return AffineMap::get(rank + 1, 0, exprs, b_.getContext());
  };
  AffineMap first = map(left, rank - 2, rank),
            second = map(right, rank, rank - 1);
  shape[rank - 2] = left.getShape()[left.getRank() - 2];
  shape[rank - 1] = right.getShape().back();
  Type sum = element().getIntOrFloatBitWidth() == 16 ? b->getF32Type()
                                                     : element();
  auto wide = RankedTensorType::get(shape, sum);
  SmallVector<utils::IteratorType> kinds(rank, utils::IteratorType::parallel);
  kinds.push_back(utils::IteratorType::reduction);
  Value v =
      linalg::GenericOp::create(
          *b, loc, TypeRange(wide), ValueRange{x, y}, ValueRange(filled(wide, 0)),
          ArrayRef<AffineMap>{
              first, second,
              b->getMultiDimIdentityMap(rank + 1).getMajorSubMap(rank)},
          kinds,
          [&](OpBuilder &inner, Location at, ValueRange v) {
            Value m = arith::MulFOp::create(inner, at,
                                            cast_(inner, at, v[0], sum),
                                            cast_(inner, at, v[1], sum));
            linalg::YieldOp::create(
                inner, at,
                ValueRange(arith::AddFOp::create(inner, at, v[2], m)));
          })
          .getResult(0);
  if (sum == element())
    return v;
  auto own = result;
  result = RankedTensorType::get(shape, element());
  v = casted(v);
  result = own;
  return v;
}

Value Function::product() {
  return tensor(0) && tensor(1) ? matmul(tensor(0), tensor(1)) : Value();
}

/// addmm: input * beta + x y * alpha
Value Function::multiplied() {
  if (!tensor(0) || !tensor(1) || !tensor(2) ||
      (count() > 3 && number(3) != 1.0) || (count() > 4 && number(4) != 1.0))
    return {};
  Value v = matmul(tensor(1), tensor(2));
  if (!v)
    return {};
  return elementwise({v, tensor(0)},
                     [&](OpBuilder &inner, ValueRange x) -> Value {
                       return arith::AddFOp::create(inner, loc, x[0], x[1]);
                     });
}

Value Function::linear() {
  if (!tensor(0) || !tensor(1) || (!tensor(2) && !isNone(2)) ||
      !isActType(type()))
    return {};
  return LinearOp::create(*b, loc, type(), tensor(0), tensor(1),
                          tensor(2) ? tensor(2) : Value());
}

Value Function::softmax() {
  Value x = tensor(0);
  auto along = dimension(1, type().getRank());
  return x && along && typeOf(x) == type() && isActType(type())
             ? act::SoftmaxOp::create(*b, loc, type(), x, int64_t(*along))
                   .getResult()
             : Value();
}

// (query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
Value Function::attention() {
  Value q = tensor(0), k = tensor(1), v = tensor(2), mask = tensor(3);
  if (!q || !k || !v || (!mask && !isNone(3)) || number(4) != 0.0 ||
      typeOf(q).getRank() < 3 || !isActType(type()))
    return {};
  const unsigned rank = typeOf(q).getRank();
  const int64_t width = typeOf(q).getShape().back();
  const double scale = number(6).value_or(1 / std::sqrt(double(width)));
  // Heads of keys and values serve several of the queries.
  const int64_t heads = typeOf(q).getDimSize(rank - 3);
  for (Value *operand : {&k, &v}) {
    auto own = typeOf(*operand);
    if (own.getRank() != rank)
      return {};
    const int64_t few = own.getDimSize(rank - 3);
    if (few == heads)
      continue;
    if (number(7) != 1.0 || !few || heads % few)
      return {};
    SmallVector<int64_t> apart(own.getShape()), wide, joined(own.getShape());
    apart.insert(apart.begin() + rank - 2, 1);
    wide = apart;
    wide[rank - 2] = heads / few;
    joined[rank - 3] = heads;
    Maker make{*b, loc};
    *operand = make.reshaped(
        make.expanded(make.reshaped(*operand, apart), wide), joined);
  }
  SmallVector<int64_t> shape(typeOf(q).getShape());
  shape.back() = typeOf(k).getShape()[rank - 2];
  auto scores = RankedTensorType::get(shape, element());
  auto stack = [&](Value x) {
    auto own = typeOf(x).getShape();
    int64_t n = 1;
    for (int64_t size : own.drop_back(2))
      n *= size;
    Maker make{*b, loc};
    return make.reshaped(x, {n, own[rank - 2], own[rank - 1]});
  };
  Value q3 = stack(q), k3 = stack(k), v3 = stack(v);
  auto flat = RankedTensorType::get({typeOf(q3).getDimSize(0), shape[rank - 2],
                                     shape[rank - 1]},
                                    element());
  Value s = MatmulOp::create(*b, loc, flat, q3, k3, false, true);
  s = ScaleOp::create(*b, loc, flat, s, b->getF64FloatAttr(scale));
  s = ReshapeOp::create(*b, loc, scores, s);
  auto least = act::ConstantOp::create(
      *b, loc, RankedTensorType::get({}, element()), -INFINITY);
  if (number(5) == 1.0) {
    auto plain = RankedTensorType::get({shape[rank - 2], shape[rank - 1]},
                                       b->getI1Type());
    Value visible = CausalMaskOp::create(
        *b, loc, plain, IntegerAttr(),
        shape[rank - 2] == shape[rank - 1] ? UnitAttr() : b->getUnitAttr());
    s = act::SelectOp::create(*b, loc, scores, visible, s, least);
  }
  if (mask && typeOf(mask).getElementType().isInteger(1))
    s = act::SelectOp::create(*b, loc, scores, mask, s, least);
  else if (mask)
    s = act::AddOp::create(*b, loc, scores, s, mask);
  Value p = act::SoftmaxOp::create(*b, loc, scores, s, int64_t(rank) - 1);
  Value o = MatmulOp::create(
      *b, loc,
      RankedTensorType::get({flat.getDimSize(0), shape[rank - 2],
                             typeOf(v).getShape().back()},
                            element()),
      ReshapeOp::create(*b, loc, flat, p), v3, false, false);
  return ReshapeOp::create(*b, loc, type(), o);
}

// (input, normalized_shape, weight, bias, eps, ...), of the last dimension
Value Function::layerNorm() {
  auto shape = integers(1);
  auto eps = number(4);
  if (!tensor(0) || !tensor(2) || !tensor(3) || !shape || shape->size() != 1 ||
      !eps || !isActType(type()))
    return {};
  for (unsigned i = 1; i < op->getNumResults(); ++i)
    if (!op->getResult(i).use_empty())
      return {};
  return LayerNormOp::create(*b, loc, type(), Type(), Type(), tensor(0),
                             tensor(2), tensor(3), b->getF64FloatAttr(*eps))
      .getResult();
}

Value Function::embedding() {
  Value table = tensor(0), ids = tensor(1);
  return table && ids && isActType(type()) && typeOf(table).getRank() == 2
             ? EmbeddingOp::create(*b, loc, type(), table, ids, IntegerAttr())
                   .getResult()
             : Value();
}

Value Function::gathered() {
  Value table = tensor(0), ids = tensor(2);
  auto along = dimension(1, type().getRank());
  if (!table || !ids || !along)
    return {};
  return elementwise(ids, [&](OpBuilder &inner, ValueRange v) -> Value {
    SmallVector<Value> at;
    for (int64_t d = 0; d < type().getRank(); ++d)
      at.push_back(
          d == *along
              ? arith::IndexCastOp::create(inner, loc, inner.getIndexType(),
                                           v[0])
                    .getResult()
              : linalg::IndexOp::create(inner, loc, d).getResult());
    return tensor::ExtractOp::create(inner, loc, table, at);
  });
}

// (input, pad, value): low and high of the last dimension first
Value Function::surrounded() {
  Value x = tensor(0);
  auto by = integers(1);
  auto n = isNone(2) ? std::optional(0.0) : number(2);
  const int64_t rank = type().getRank();
  if (!x || !by || !n || by->size() % 2 || int64_t(by->size()) > 2 * rank ||
      llvm::any_of(*by, [](int64_t size) { return size < 0; }))
    return {};
  SmallVector<OpFoldResult> low(rank, b->getIndexAttr(0)), high(low);
  for (unsigned i = 0; 2 * i < by->size(); ++i) {
    low[rank - 1 - i] = b->getIndexAttr((*by)[2 * i]);
    high[rank - 1 - i] = b->getIndexAttr((*by)[2 * i + 1]);
  }
  return tensor::PadOp::create(*b, loc, type(), x, low, high,
                               scalar(element(), *n));
}

/// Zeros, or another number, around the last two dimensions.
static Value padded(OpBuilder &b, Location loc, Value x, ArrayRef<int64_t> by,
                    Value number) {
  if (llvm::all_of(by, [](int64_t n) { return n == 0; }))
    return x;
  SmallVector<int64_t> shape(typeOf(x).getShape());
  SmallVector<OpFoldResult> around(2, b.getIndexAttr(0));
  for (unsigned i : {0u, 1u}) {
    shape[2 + i] += 2 * by[i];
    around.push_back(b.getIndexAttr(by[i]));
  }
  return tensor::PadOp::create(
      b, loc, RankedTensorType::get(shape, typeOf(x).getElementType()), x,
      around, around, number);
}

// (input, weight, bias, stride, padding, dilation, transposed, output_padding,
// groups)
Value Function::convolved() {
  auto stride = integers(3), padding = integers(4), dilation = integers(5);
  if (!tensor(0) || !tensor(1) || (!tensor(2) && !isNone(2)) || !stride ||
      !padding || !dilation || type().getRank() != 4 || stride->size() != 2 ||
      padding->size() != 2 || dilation->size() != 2 || number(6) != 0.0 ||
      number(8) != 1.0 || !isa<FloatType>(element()))
    return {};
  Value input = padded(*b, loc, tensor(0), *padding, scalar(element(), 0));
  Value v = linalg::Conv2DNchwFchwOp::create(
                *b, loc, TypeRange(type()), ValueRange{input, tensor(1)},
                ValueRange(filled(type(), 0)), b->getI64TensorAttr(*stride),
                b->getI64TensorAttr(*dilation))
                .getResult(0);
  if (!tensor(2))
    return v;
  Maker make{*b, loc};
  Value bias = make.reshaped(tensor(2), {type().getDimSize(1), 1, 1});
  return elementwise({v, bias}, [&](OpBuilder &inner, ValueRange x) -> Value {
    return arith::AddFOp::create(inner, loc, x[0], x[1]);
  });
}

// (input, kernel_size, stride, padding, dilation, ceil_mode)
Value Function::pooled() {
  auto size = integers(1), stride = integers(2), padding = integers(3),
       dilation = integers(4);
  if (!tensor(0) || !size || !stride || !padding || !dilation ||
      type().getRank() != 4 || size->size() != 2 || padding->size() != 2 ||
      dilation->size() != 2 || number(5) != 0.0 || !isa<FloatType>(element()))
    return {};
  if (stride->empty())
    stride = size;
  Value input =
      padded(*b, loc, tensor(0), *padding, scalar(element(), -INFINITY));
  Value window = empty(RankedTensorType::get(*size, element()));
  return linalg::PoolingNchwMaxOp::create(
             *b, loc, TypeRange(type()), ValueRange{input, window},
             ValueRange(filled(type(), -INFINITY)),
             b->getI64TensorAttr(*stride), b->getI64TensorAttr(*dilation))
      .getResult(0);
}

const llvm::StringMap<Function::Rule> &Function::table() {
  using F = Function;
  using FP = arith::CmpFPredicate;
  using IP = arith::CmpIPredicate;
  static const auto *all = new llvm::StringMap<Rule>{
      {"_reshape_alias", &F::reshaped},
      {"_softmax", &F::softmax},
      {"_unsafe_view", &F::reshaped},
      {"abs", &F::unary<math::AbsFOp>},
      {"add.Scalar", &F::withFactor<arith::AddFOp, arith::AddIOp>},
      {"add.Tensor", &F::withFactor<arith::AddFOp, arith::AddIOp>},
      {"addmm", &F::multiplied},
      {"alias", &F::same},
      {"all.dim", &F::allAlong},
      {"amax", &F::greatest},
      {"arange", &F::counted},
      {"arange.start", &F::counted},
      {"arange.start_step", &F::counted},
      {"bitwise_and.Tensor", &F::logical<arith::AndIOp>},
      {"bitwise_not", &F::inverted},
      {"bitwise_or.Tensor", &F::logical<arith::OrIOp>},
      {"bmm", &F::product},
      {"broadcast_to", &F::repeated},
      {"cat", &F::joined},
      {"ceil", &F::unary<math::CeilOp>},
      {"clone", &F::same},
      {"constant_pad_nd", &F::surrounded},
      {"contiguous", &F::same},
      {"convolution", &F::convolved},
      {"cos", &F::unary<math::CosOp>},
      {"detach", &F::same},
      {"div.Scalar", &F::divided},
      {"div.Tensor", &F::divided},
      {"embedding", &F::embedding},
      {"empty.memory_format", &F::full<0>},
      {"eq.Scalar", &F::compared<FP::OEQ, IP::eq>},
      {"eq.Tensor", &F::compared<FP::OEQ, IP::eq>},
      {"erf", &F::unary<math::ErfOp>},
      {"exp", &F::unary<math::ExpOp>},
      {"expand", &F::repeated},
      {"expm1", &F::unary<math::ExpM1Op>},
      {"flatten.using_ints", &F::reshaped},
      {"floor", &F::unary<math::FloorOp>},
      {"full", &F::fullOf},
      {"full_like", &F::fullOf},
      {"gather", &F::gathered},
      {"ge.Scalar", &F::compared<FP::OGE, IP::sge>},
      {"ge.Tensor", &F::compared<FP::OGE, IP::sge>},
      {"gelu", &F::gelu},
      {"gt.Scalar", &F::compared<FP::OGT, IP::sgt>},
      {"gt.Tensor", &F::compared<FP::OGT, IP::sgt>},
      {"layer_norm", &F::layerNorm},
      {"le.Scalar", &F::compared<FP::OLE, IP::sle>},
      {"le.Tensor", &F::compared<FP::OLE, IP::sle>},
      {"linear", &F::linear},
      {"log", &F::unary<math::LogOp>},
      {"log1p", &F::unary<math::Log1pOp>},
      {"logical_and", &F::logical<arith::AndIOp>},
      {"logical_not", &F::inverted},
      {"logical_or", &F::logical<arith::OrIOp>},
      {"lt.Scalar", &F::compared<FP::OLT, IP::slt>},
      {"lt.Tensor", &F::compared<FP::OLT, IP::slt>},
      {"matmul", &F::product},
      {"max.dim", &F::greatestAlong},
      {"max_pool2d", &F::pooled},
      {"maximum", &F::binary<arith::MaximumFOp, arith::MaxSIOp>},
      {"mean", &F::mean},
      {"mean.dim", &F::mean},
      {"minimum", &F::binary<arith::MinimumFOp, arith::MinSIOp>},
      {"mm", &F::product},
      {"mul.Scalar", &F::binary<arith::MulFOp, arith::MulIOp>},
      {"mul.Tensor", &F::binary<arith::MulFOp, arith::MulIOp>},
      {"native_layer_norm", &F::layerNorm},
      {"ne.Scalar", &F::compared<FP::UNE, IP::ne>},
      {"ne.Tensor", &F::compared<FP::UNE, IP::ne>},
      {"neg", &F::unary<arith::NegFOp>},
      {"ones", &F::full<1>},
      {"ones_like", &F::full<1>},
      {"permute", &F::permuted},
      {"pow.Scalar", &F::power},
      {"pow.Tensor_Scalar", &F::power},
      {"pow.Tensor_Tensor", &F::power},
      {"relu", &F::relu},
      {"reshape", &F::reshaped},
      {"rsqrt", &F::unary<math::RsqrtOp>},
      {"scaled_dot_product_attention", &F::attention},
      {"select.int", &F::selected},
      {"sigmoid", &F::sigmoid},
      {"silu", &F::silu},
      {"sin", &F::unary<math::SinOp>},
      {"slice.Tensor", &F::sliced},
      {"softmax.int", &F::softmax},
      {"sqrt", &F::unary<math::SqrtOp>},
      {"squeeze", &F::reshaped},
      {"squeeze.dim", &F::reshaped},
      {"sub.Scalar", &F::withFactor<arith::SubFOp, arith::SubIOp>},
      {"sub.Tensor", &F::withFactor<arith::SubFOp, arith::SubIOp>},
      {"sum", &F::summedAll},
      {"sum.dim_IntList", &F::summed},
      {"t", &F::turned},
      {"tanh", &F::unary<math::TanhOp>},
      {"to.dtype", &F::converted},
      {"transpose.int", &F::swapped},
      {"unsqueeze", &F::reshaped},
      {"view", &F::reshaped},
      {"where.ScalarOther", &F::chosen},
      {"where.ScalarSelf", &F::chosen},
      {"where.self", &F::chosen},
      {"zeros", &F::full<0>},
      {"zeros_like", &F::full<0>},
  };
  return *all;
}

/// Whether the op is a constant or a list, which then is known.
bool Function::constant() {
  StringRef name = op->getName().getStringRef();
  if (name == "torch.prim.ListConstruct") {
    lists[op->getResult(0)] = llvm::to_vector(op->getOperands());
    return true;
  }
  if (!name.consume_front("torch.constant.") || op->getNumResults() != 1)
    return false;
  auto properties =
      dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute());
  Attribute value = properties ? properties.get("value") : op->getAttr("value");
  Constant own;
  if (auto f = dyn_cast_or_null<FloatAttr>(value))
    own.number = f.getValueAsDouble();
  else if (auto i = dyn_cast_or_null<IntegerAttr>(value))
    own.number = i.getType().isInteger(1) ? double(!i.getValue().isZero())
                                          : double(i.getValue().getSExtValue());
  else if (auto s = dyn_cast_or_null<StringAttr>(value))
    own.word = s.str();
  constants[op->getResult(0)] = own;
  return true;
}

Value Function::run() {
  StringRef name = op->getName().getStringRef();
  if (name == "torch.vtensor.literal")
    return literal();
  if (!name.consume_front("torch.aten."))
    return {};
  auto found = table().find(name);
  return found == table().end() ? Value() : (this->*found->second)();
}

LogicalResult Function::lower() {
  Block &body = function.getBody().front();
  SmallVector<Operation *> done;
  auto tensorFor = [&](Type type) -> Type {
    auto opaque = dyn_cast<OpaqueType>(type);
    if (!opaque || opaque.getDialectNamespace() != "torch")
      return type;
    return tensorTypeOf(type);
  };
  SmallVector<Type> inputs, results;
  for (BlockArgument argument : body.getArguments()) {
    Type to = tensorFor(argument.getType());
    if (!to)
      return function.emitError("argument ")
             << argument.getArgNumber() << " is " << argument.getType()
             << ", expected a tensor of static shape";
    inputs.push_back(to);
  }
  for (Type type : function.getResultTypes()) {
    Type to = tensorFor(type);
    if (!to)
      return function.emitError("a result is ")
             << type << ", expected a tensor of static shape";
    results.push_back(to);
  }
  for (auto [argument, to] : llvm::zip_equal(body.getArguments(), inputs)) {
    argument.setType(to);
    tensors[argument] = argument;
  }
  function.setFunctionType(
      FunctionType::get(function.getContext(), inputs, results));
  for (Operation &each : body) {
    if (each.getName().getDialectNamespace() != "torch") {
      for (Value v : each.getResults())
        tensors[v] = v;
      continue;
    }
    op = &each;
    done.push_back(op);
    if (constant())
      continue;
    b.emplace(op);
    loc = op->getLoc();
    result = op->getNumResults() ? tensorTypeOf(op->getResult(0).getType())
                                 : RankedTensorType();
    Value v = result ? run() : Value();
    if (!v || v.getType() != result)
      return op->emitError() << "'" << op->getName()
                             << "' is not known, or not in this form";
    tensors[op->getResult(0)] = v;
  }
  for (OpOperand &operand : body.getTerminator()->getOpOperands())
    if (Value v = tensors.lookup(operand.get()))
      operand.set(v);
  for (Operation *each : llvm::reverse(done)) {
    each->dropAllUses();
    each->erase();
  }
  return success();
}

} // namespace

LogicalResult act::lowerTorchDialect(func::FuncOp function) {
  if (function.isExternal())
    return success();
  const bool hasTorch =
      function
          .walk([](Operation *op) {
            return op->getName().getDialectNamespace() == "torch"
                       ? WalkResult::interrupt()
                       : WalkResult::advance();
          })
          .wasInterrupted();
  if (!hasTorch)
    return success();
  if (!function.getBody().hasOneBlock())
    return function.emitError("has torch ops in several blocks");
  return Function(function).lower();
}
