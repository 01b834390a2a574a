// SPDX-License-Identifier: Apache-2.0
//
// Blocks computed from blocks: elementwise ops, shape changes and products.
#include "dialects/tile/Float8.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/tile-to-host/HostBuilder.h"

using namespace mlir;
using namespace act::tile;

/// Division that never traps. By 0 the quotient is all ones and the remainder
/// the dividend, as in PTX; by -1 the quotient wraps.
static Value divide(Operation *op, Value a, Value d, HostBuilder &h) {
  OpBuilder &b = h.b;
  Location loc = h.loc;
  Type type = a.getType();
  auto constant = [&](int64_t n) -> Value {
    return type.isIndex()
               ? h.index(n)
               : Value(arith::ConstantIntOp::create(b, loc, type, n));
  };
  auto is = [&](Value v, Value n) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, v, n);
  };
  Value byZero = is(d, constant(0)), unsafe = byZero;
  // The CPU's division traps in both cases, so it gets a divisor of 1 there and
  // the result is replaced.
  bool isSigned = isa<arith::DivSIOp, arith::RemSIOp>(op);
  if (isSigned) // x / -1 is -x, which wraps; the remainder is 0
    unsafe = arith::OrIOp::create(b, loc, unsafe, is(d, constant(-1)));
  Value divisor = arith::SelectOp::create(b, loc, unsafe, constant(1), d);
  OperationState state(loc, op->getName(), {a, divisor}, type);
  Value result = b.create(state)->getResult(0);
  bool isRemainder = isa<arith::RemSIOp, arith::RemUIOp>(op);
  if (isSigned && !isRemainder)
    result = arith::SelectOp::create(
        b, loc, is(d, constant(-1)),
        arith::SubIOp::create(b, loc, constant(0), a), result);
  return arith::SelectOp::create(b, loc, byZero, isRemainder ? a : constant(-1),
                                 result);
}

/// The op on single elements; null if that is impossible.
static SmallVector<Value> onScalars(Operation *op, ValueRange operands,
                                    HostBuilder &h) {
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op))
    return {divide(op, operands[0], operands[1], h)};
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(getElementTypeOrSelf(type));
  SmallVector<Value> widened(operands);
  if (isa<arith::ExtFOp>(op) && isFloat8(operands[0].getType())) {
    widened[0] = createExtFloat8(h.b, h.loc, operands[0]);
    if (types[0].isF32())
      return widened;
    if (types[0].isBF16() || types[0].isF16())
      return {arith::TruncFOp::create(h.b, h.loc, types[0], widened[0])};
  }
  if (isa<arith::TruncFOp>(op) && isFloat8(types[0]))
    return {createTruncFloat8(h.b, h.loc, operands[0], types[0])};
  OperationState state(h.loc, op->getName(), widened, types);
  state.addAttributes(op->getDiscardableAttrDictionary().getValue());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return llvm::to_vector_of<Value>(h.b.create(state)->getResults());
}

/// Arithmetic on 8-bit floats would become integer arithmetic, so reject it.
static LogicalResult checkFloat8(Operation *op) {
  auto narrow = [](Type t) { return isFloat8(getElementTypeOrSelf(t)); };
  if (llvm::none_of(op->getOperandTypes(), narrow) &&
      llvm::none_of(op->getResultTypes(), narrow))
    return success();
  if (auto truncation = dyn_cast<arith::TruncFOp>(op))
    return truncation.getRoundingmodeAttr()
               ? op->emitOpError("rounds to 8-bit floats in a mode other than "
                                 "to nearest, ties to even")
               : success();
  if (isa<arith::ExtFOp, arith::BitcastOp, arith::SelectOp, arith::ConstantOp,
          tensor::SplatOp>(op))
    return success();
  return op->emitOpError(
      "is not supported on the host for 8-bit floats, which can only be "
      "loaded, stored, converted and multiplied");
}

static LogicalResult lowerConstant(arith::ConstantOp op, HostBuilder &h) {
  auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
  if (!splat)
    return op->emitOpError(
        "is a block of different constants; a kernel supports only splats");
  Value one =
      arith::ConstantOp::create(h.b, h.loc, splat.getSplatValue<TypedAttr>());
  Value memory = h.make(op.getResult());
  h.forEach(cast<ShapedType>(op.getType()).getShape(),
            [&](ValueRange at) { h.write(one, memory, at); });
  return success();
}

/// Whether the host can lower the op, which works on numbers.
static bool isOnNumbers(Operation *op) {
  if (op->getNumRegions() || !isMemoryEffectFree(op))
    return false;
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
         op->getName().getStringRef() == "ub.poison";
}

// Ops on numbers keep their form; on blocks they are done for one element after
// the other.
LogicalResult act::tile::lowerBlockOp(Operation *op, HostBuilder &h) {
  if (failed(checkFloat8(op)))
    return failure();
  auto isBlock = [](Value v) { return HostBuilder::isBlock(v); };
  bool onBlocks = llvm::any_of(op->getResults(), isBlock) ||
                  llvm::any_of(op->getOperands(), isBlock);
  if (!onBlocks) {
    auto isNumber = [](Type t) { return t.isIntOrIndexOrFloat(); };
    if (!isOnNumbers(op) || !llvm::all_of(op->getOperandTypes(), isNumber) ||
        !llvm::all_of(op->getResultTypes(), isNumber))
      return op->emitOpError("is not supported on the host, where kernels "
                             "consist of ops of tile, arith, math and scf");
    SmallVector<Value> operands;
    for (Value v : op->getOperands())
      operands.push_back(h.scalar(v));
    h.scalars.map(op->getResults(), onScalars(op, operands, h));
    return success();
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return lowerConstant(constant, h);
  if (auto splat = dyn_cast<tensor::SplatOp>(op)) {
    Value memory = h.make(splat.getResult());
    Value one = h.scalar(splat.getInput());
    h.forEach(splat.getType().getShape(),
              [&](ValueRange at) { h.write(one, memory, at); });
    return success();
  }
  if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumResults() == 0 ||
      !isOnNumbers(op) || !llvm::all_of(op->getResults(), isBlock))
    return op->emitOpError("is not defined for blocks of a kernel");
  SmallVector<Value> memory;
  for (Value result : op->getResults())
    memory.push_back(h.make(result));
  h.forEach(cast<ShapedType>(op->getResult(0).getType()).getShape(),
            [&](ValueRange at) {
              SmallVector<Value> operands;
              for (Value v : op->getOperands())
                operands.push_back(h.element(v, at));
              for (auto [v, to] : llvm::zip(onScalars(op, operands, h), memory))
                h.write(v, to, at);
            });
  return success();
}

/// The same memory as one row.
static Value flat(Value memory, HostBuilder &h) {
  auto type = cast<MemRefType>(memory.getType());
  if (type.getRank() == 1)
    return memory;
  ReassociationIndices all(llvm::to_vector(llvm::seq<int64_t>(type.getRank())));
  return memref::CollapseShapeOp::create(h.b, h.loc, memory,
                                         ArrayRef<ReassociationIndices>{all});
}

// Reshapes, new dimensions and layouts keep the row-major order, so they copy.
// The others compute where an element comes from.
LogicalResult act::tile::lowerShape(Operation *op, HostBuilder &h) {
  SmallVector<Value> to;
  for (Value result : op->getResults())
    to.push_back(h.make(result));
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (auto iota = dyn_cast<IotaOp>(op)) {
    h.forEach(type.getShape(), [&](ValueRange at) {
      Value i =
          arith::AddIOp::create(h.b, h.loc, at[0], h.index(iota.getStart()));
      h.write(arith::IndexCastOp::create(h.b, h.loc, h.b.getI32Type(), i),
              to[0], at);
    });
    return success();
  }
  if (isa<ReshapeOp, ExpandDimsOp, ConvertLayoutOp>(op)) {
    h.copy(flat(h.of(op->getOperand(0)), h), flat(to[0], h));
    return success();
  }
  SmallVector<Value> from;
  for (Value operand : op->getOperands())
    from.push_back(h.of(operand));
  Type element = type.getElementType();
  h.forEach(type.getShape(), [&](ValueRange at) {
    SmallVector<Value> source(at);
    if (isa<TransOp>(op)) {
      std::swap(source[source.size() - 2], source[source.size() - 1]);
    } else if (isa<BroadcastOp>(op)) {
      auto shape = cast<ShapedType>(op->getOperand(0).getType()).getShape();
      for (auto [d, extent] : llvm::enumerate(shape))
        if (extent == 1)
          source[d] = h.index(0);
    } else if (isa<JoinOp>(op)) {
      Value first = arith::CmpIOp::create(h.b, h.loc, arith::CmpIPredicate::eq,
                                          source.back(), h.index(0));
      source.pop_back();
      h.write(arith::SelectOp::create(h.b, h.loc, first,
                                      h.read(from[0], source, element),
                                      h.read(from[1], source, element)),
              to[0], at);
      return;
    } else { // split
      for (int half : {0, 1}) {
        source.push_back(h.index(half));
        h.write(h.read(from[0], source, element), to[half], at);
        source.pop_back();
      }
      return;
    }
    h.write(h.read(from[0], source, element), to[0], at);
  });
  return success();
}

/// Rounds to nearest with the ten mantissa bits that tensor cores keep of f32:
/// adds half of the last bit that stays, then clears the rest.
static Value roundToTf32(Value v, HostBuilder &h) {
  OpBuilder &b = h.b;
  Type i32 = b.getI32Type();
  Value bits = arith::BitcastOp::create(b, h.loc, i32, v);
  bits = arith::AddIOp::create(
      b, h.loc, bits, arith::ConstantIntOp::create(b, h.loc, i32, 0x1000));
  bits = arith::AndIOp::create(
      b, h.loc, bits, arith::ConstantIntOp::create(b, h.loc, i32, ~0x1fff));
  Value isNan =
      arith::CmpFOp::create(b, h.loc, arith::CmpFPredicate::UNO, v, v);
  return arith::SelectOp::create(
      b, h.loc, isNan, v,
      arith::BitcastOp::create(b, h.loc, b.getF32Type(), bits));
}

/// Products are added in the order of k by fused multiply-adds; those of 16-
/// and 8-bit numbers are exact. f16 sums are computed in f32 and rounded at the
/// end.
LogicalResult act::tile::lowerDot(DotOp op, HostBuilder &h) {
  Value memory = h.make(op.getResult());
  Type result = getElementTypeOrSelf(op.getType());
  Type sum = result.isF16() ? h.b.getF32Type() : result;
  bool tf32 = op.getPrecision() == DotPrecision::TF32;
  auto operand = [&](Value block, ValueRange at) -> Value {
    Value v = h.element(block, at);
    if (isFloat8(v.getType()))
      return createExtFloat8(h.b, h.loc, v);
    if (tf32)
      return roundToTf32(v, h);
    if (v.getType() == sum)
      return v;
    return isa<FloatType>(sum)
               ? Value(arith::ExtFOp::create(h.b, h.loc, sum, v))
               : arith::ExtSIOp::create(h.b, h.loc, sum, v);
  };
  // One element of the result after the other. Outside of its row's bounds a
  // product is left out, and not multiplied by 0: it may be NaN.
  int64_t depth = op.getA().getType().getDimSize(1);
  h.forEach(op.getType().getShape(), [&](ValueRange at) {
    Value start = h.element(op.getAcc(), at);
    if (sum != result)
      start = arith::ExtFOp::create(h.b, h.loc, sum, start);
    Value ends[2];
    for (auto [end, block] : llvm::zip(ends, op.getWithin()))
      end = arith::IndexCastOp::create(h.b, h.loc, h.b.getIndexType(),
                                       h.element(block, at[0]));
    auto inside = [&](Value k, Value next, Value before) -> Value {
      if (op.getWithin().empty())
        return next;
      auto compare = [&](arith::CmpIPredicate p, Value end) -> Value {
        return arith::CmpIOp::create(h.b, h.loc, p, k, end);
      };
      Value is = arith::AndIOp::create(
          h.b, h.loc, compare(arith::CmpIPredicate::sge, ends[0]),
          compare(arith::CmpIPredicate::slt, ends[1]));
      return arith::SelectOp::create(h.b, h.loc, is, next, before);
    };
    Value total =
        h.loop(0, depth, start, [&](Value k, ValueRange carried) {
           Value a = operand(op.getA(), {at[0], k});
           Value c = operand(op.getB(), {k, at[1]});
           if (isa<FloatType>(sum))
             return SmallVector<Value>{
                 inside(k, math::FmaOp::create(h.b, h.loc, a, c, carried[0]),
                        carried[0])};
           Value product = arith::MulIOp::create(h.b, h.loc, a, c);
           return SmallVector<Value>{
               arith::AddIOp::create(h.b, h.loc, carried[0], product)};
         }).front();
    if (sum != result)
      total = arith::TruncFOp::create(h.b, h.loc, result, total);
    h.write(total, memory, at);
  });
  return success();
}
