// SPDX-License-Identifier: Apache-2.0
//
// One function per op, as KernelBuilder.h shows. Shapes are computed only where
// a result type needs them.
#include "dialects/tile/KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace act::tile;

static bool isFloat(Value x) { return isa<FloatType>(getElementTypeOrSelf(x)); }

// `type` with another element type; the element type itself for a scalar.
static Type withElement(Type type, Type element) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.clone(element) : element;
}

// Starts a kernel without parameters; argument() adds them one by one, so that
// a caller need not list their types first.
KernelBuilder::KernelBuilder(gpu::GPUModuleOp module, StringRef name,
                             Location loc)
    : b(module.getContext()), loc(loc) {
  b.getContext()
      ->loadDialect<TileDialect, arith::ArithDialect, math::MathDialect,
                    scf::SCFDialect, tensor::TensorDialect>();
  b.setInsertionPointToEnd(module.getBody());
  kernel = gpu::GPUFuncOp::create(b, loc, name, b.getFunctionType({}, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  // The same defaults as in the text form of a schedule.
  setSchedule(4, 2);
  b.setInsertionPointToEnd(&kernel.getBody().front());
}

gpu::GPUFuncOp KernelBuilder::finish() {
  gpu::ReturnOp::create(b, loc);
  return succeeded(verify(kernel)) ? kernel : gpu::GPUFuncOp();
}

void KernelBuilder::setGrid(int64_t x, int64_t y, int64_t z) {
  kernel->setAttr(gridName, b.getDenseI64ArrayAttr({x, y, z}));
}

void KernelBuilder::setSchedule(int64_t warps, int64_t stages,
                                ArrayRef<int64_t> raster, int64_t copyWarps) {
  kernel->setAttr(scheduleName, ScheduleAttr::get(b.getContext(), warps, stages,
                                                  raster, copyWarps));
}

Value KernelBuilder::argument(Type type) {
  unsigned i = kernel.getNumArguments();
  (void)kernel.insertArgument(i, type, {}, loc); // any type will do
  return kernel.getArgument(i);
}

Value KernelBuilder::view(ArrayRef<int64_t> shape, Type element) {
  return argument(ViewType::get(shape, element));
}
Value KernelBuilder::pointer(Type element) {
  return argument(PtrType::get(b.getContext(), element));
}
Value KernelBuilder::scalar(Type type) { return argument(type); }

Value KernelBuilder::programId(GridAxis axis) {
  return ProgramIdOp::create(b, loc, axis);
}
Value KernelBuilder::numPrograms(GridAxis axis) {
  return NumProgramsOp::create(b, loc, axis);
}

Value KernelBuilder::index(int64_t number) {
  return arith::ConstantIndexOp::create(b, loc, number);
}

Value KernelBuilder::constant(double number, Type type) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr one;
  if (isa<FloatType>(element))
    one = b.getFloatAttr(element, number);
  else
    one = b.getIntegerAttr(element, int64_t(number));
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    one = DenseElementsAttr::get(tensor, Attribute(one));
  return arith::ConstantOp::create(b, loc, one);
}

Value KernelBuilder::full(ArrayRef<int64_t> shape, Type element,
                          double number) {
  return constant(number, RankedTensorType::get(shape, element));
}

Value KernelBuilder::viewOf(Value pointer, ArrayRef<OpFoldResult> sizes,
                            ArrayRef<OpFoldResult> strides) {
  auto numbers = [](ArrayRef<OpFoldResult> mixed) {
    SmallVector<int64_t> out;
    for (OpFoldResult value : mixed)
      out.push_back(isa<Attribute>(value) ? *getConstantIntValue(value)
                                          : ShapedType::kDynamic);
    return out;
  };
  Type element = cast<PtrType>(pointer.getType()).getElementType();
  return ViewOp::create(
      b, loc, ViewType::get(numbers(sizes), element, numbers(strides)), pointer,
      sizes, strides);
}

// Indices and extents of a block. A vector of rows has its extent in its type;
// for a scalar index the caller gives it.
KernelBuilder::Access KernelBuilder::access(ArrayRef<At> at) {
  Access access;
  for (const At &one : at) {
    Value value = one.index ? one.index : index(one.number);
    auto rows = dyn_cast<RankedTensorType>(value.getType());
    access.indices.push_back(value);
    access.extents.push_back(rows ? rows.getDimSize(0) : one.extent);
  }
  return access;
}

Value KernelBuilder::load(Value view, ArrayRef<At> at,
                          std::optional<double> pad) {
  Access where = access(at);
  TypedAttr padding;
  Type element = cast<ViewType>(view.getType()).getElementType();
  if (pad && isa<FloatType>(element))
    padding = b.getFloatAttr(element, *pad);
  else if (pad)
    padding = b.getIntegerAttr(element, int64_t(*pad));
  return LoadOp::create(b, loc, view, where.indices, where.extents, padding);
}

void KernelBuilder::store(Value value, Value view, ArrayRef<At> at) {
  Access where = access(at);
  StoreOp::create(b, loc, value, view, where.indices, where.extents);
}

void KernelBuilder::atomicAdd(Value value, Value view, ArrayRef<At> at) {
  Access where = access(at);
  AtomicAddOp::create(b, loc, value, view, where.indices, where.extents);
}

Value KernelBuilder::iota(int64_t start, int64_t end) {
  return IotaOp::create(b, loc, start, end);
}

Value KernelBuilder::splat(Value scalar, ArrayRef<int64_t> shape) {
  return tensor::SplatOp::create(
      b, loc, RankedTensorType::get(shape, scalar.getType()), scalar);
}

Value KernelBuilder::trans(Value a) { return TransOp::create(b, loc, a); }

Value KernelBuilder::reshape(Value a, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, getElementTypeOrSelf(a));
  return ReshapeOp::create(b, loc, type, a);
}

Value KernelBuilder::expandDims(Value a, int64_t axis) {
  return ExpandDimsOp::create(b, loc, a, axis);
}

Value KernelBuilder::broadcast(Value a, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, getElementTypeOrSelf(a));
  return a.getType() == type ? a : BroadcastOp::create(b, loc, type, a);
}

// Brings a vector, or a scalar, to the shape of `like`, with its elements along
// the other axis: `axis` is where the new dimension goes.
Value KernelBuilder::along(Value a, int64_t axis, Value like) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(like.getType()).getShape();
  if (!isa<RankedTensorType>(a.getType()))
    return splat(a, shape);
  return broadcast(expandDims(a, axis), shape);
}

// Without an accumulator it starts from zeros, in the type in which tensor
// cores sum: i32 for integers, f64 for f64, else f32.
Value KernelBuilder::dot(Value x, Value y, Value acc, DotPrecision precision) {
  if (!acc) {
    auto a = cast<RankedTensorType>(x.getType());
    auto c = cast<RankedTensorType>(y.getType());
    Type element = a.getElementType();
    Type sum = isa<IntegerType>(element)   ? i32()
               : isa<Float64Type>(element) ? element
                                           : f32();
    acc = full({a.getDimSize(0), c.getDimSize(1)}, sum, 0);
  }
  return DotOp::create(b, loc, x, y, acc, precision);
}

Value KernelBuilder::reduce(CombineKind kind, Value a, int64_t axis) {
  return ReduceOp::create(b, loc, kind, a, axis).getResult(0);
}

template <typename Float, typename Integer>
static Value arithmetic(KernelBuilder &k, Value x, Value y) {
  if (isFloat(x))
    return Float::create(k.b, k.loc, x, y);
  return Integer::create(k.b, k.loc, x, y);
}

Value KernelBuilder::add(Value x, Value y) {
  return arithmetic<arith::AddFOp, arith::AddIOp>(*this, x, y);
}
Value KernelBuilder::sub(Value x, Value y) {
  return arithmetic<arith::SubFOp, arith::SubIOp>(*this, x, y);
}
Value KernelBuilder::mul(Value x, Value y) {
  return arithmetic<arith::MulFOp, arith::MulIOp>(*this, x, y);
}
Value KernelBuilder::div(Value x, Value y) {
  return arithmetic<arith::DivFOp, arith::DivSIOp>(*this, x, y);
}
Value KernelBuilder::max(Value x, Value y) {
  return arithmetic<arith::MaximumFOp, arith::MaxSIOp>(*this, x, y);
}
Value KernelBuilder::min(Value x, Value y) {
  return arithmetic<arith::MinimumFOp, arith::MinSIOp>(*this, x, y);
}
Value KernelBuilder::exp(Value x) { return math::ExpOp::create(b, loc, x); }
Value KernelBuilder::exp2(Value x) { return math::Exp2Op::create(b, loc, x); }
Value KernelBuilder::log(Value x) { return math::LogOp::create(b, loc, x); }
Value KernelBuilder::sqrt(Value x) { return math::SqrtOp::create(b, loc, x); }
Value KernelBuilder::rsqrt(Value x) { return math::RsqrtOp::create(b, loc, x); }
Value KernelBuilder::tanh(Value x) { return math::TanhOp::create(b, loc, x); }

Value KernelBuilder::less(Value x, Value y) {
  if (isFloat(x))
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, y);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, x, y);
}

Value KernelBuilder::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, loc, condition, x, y);
}

// Integers are signed, except that an i1 is 0 or 1.
Value KernelBuilder::convert(Value x, Type element) {
  Type from = getElementTypeOrSelf(x), to = withElement(x.getType(), element);
  if (from == element)
    return x;
  if (isa<IndexType>(from) || isa<IndexType>(element))
    return arith::IndexCastOp::create(b, loc, to, x);
  unsigned wide = element.getIntOrFloatBitWidth();
  unsigned was = from.getIntOrFloatBitWidth();
  if (isa<FloatType>(from) && isa<FloatType>(element)) {
    if (wide > was)
      return arith::ExtFOp::create(b, loc, to, x);
    if (wide < was)
      return arith::TruncFOp::create(b, loc, to, x);
    // bf16 and f16 have equal widths: go through f32, which holds both.
    return convert(convert(x, f32()), element);
  }
  if (isa<FloatType>(from))
    return arith::FPToSIOp::create(b, loc, to, x);
  if (isa<FloatType>(element))
    return from.isInteger(1) ? Value(arith::UIToFPOp::create(b, loc, to, x))
                             : arith::SIToFPOp::create(b, loc, to, x);
  if (wide < was)
    return arith::TruncIOp::create(b, loc, to, x);
  return from.isInteger(1) ? Value(arith::ExtUIOp::create(b, loc, to, x))
                           : arith::ExtSIOp::create(b, loc, to, x);
}

SmallVector<Value> KernelBuilder::loop(Value lower, Value upper, Value step,
                                       ValueRange carried, Body body) {
  auto loop = scf::ForOp::create(b, loc, lower, upper, step, carried);
  {
    OpBuilder::InsertionGuard guard(b);
    // Without carried values the loop already has a terminator.
    if (carried.empty())
      b.setInsertionPoint(loop.getBody()->getTerminator());
    else
      b.setInsertionPointToEnd(loop.getBody());
    SmallVector<Value> next =
        body(loop.getInductionVar(), loop.getRegionIterArgs());
    if (!carried.empty())
      scf::YieldOp::create(b, loc, next);
  }
  return SmallVector<Value>(loop.getResults());
}

void KernelBuilder::when(Value condition, function_ref<void()> body) {
  auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  body();
}
