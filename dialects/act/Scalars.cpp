// SPDX-License-Identifier: Apache-2.0
// Scalar arithmetic of the linalg forms, and conversions between float types.
#include "dialects/act/LinalgBuilder.h"
#include <limits>

using namespace mlir;

namespace act {

Value Scalars::f(double value) {
  return arith::ConstantOp::create(b, loc, b.getFloatAttr(compute, value));
}
Value Scalars::i32(int64_t value) {
  return arith::ConstantOp::create(
      b, loc,
      b.getIntegerAttr(b.getI32Type(),
                       APInt(32, uint64_t(value), false, true)));
}
Value Scalars::i64(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}
Value Scalars::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}
Value Scalars::negInf() { return f(-std::numeric_limits<double>::infinity()); }
Value Scalars::loop(int64_t dim) {
  return linalg::IndexOp::create(b, loc, dim);
}
Value Scalars::loop64(int64_t dim) {
  return arith::IndexCastOp::create(b, loc, b.getI64Type(), loop(dim));
}
Value Scalars::add(Value x, Value y) {
  return arith::AddFOp::create(b, loc, x, y);
}
Value Scalars::sub(Value x, Value y) {
  return arith::SubFOp::create(b, loc, x, y);
}
Value Scalars::mul(Value x, Value y) {
  return arith::MulFOp::create(b, loc, x, y);
}
Value Scalars::div(Value x, Value y) {
  return arith::DivFOp::create(b, loc, x, y);
}
Value Scalars::neg(Value x) { return arith::NegFOp::create(b, loc, x); }
// maximumf and minimumf return NaN if an operand is NaN, as PyTorch does;
// maxnumf and minnumf would lose it.
Value Scalars::max(Value x, Value y) {
  return arith::MaximumFOp::create(b, loc, x, y);
}
Value Scalars::min(Value x, Value y) {
  return arith::MinimumFOp::create(b, loc, x, y);
}
Value Scalars::exp(Value x) { return math::ExpOp::create(b, loc, x); }
Value Scalars::log(Value x) { return math::LogOp::create(b, loc, x); }
Value Scalars::sqrt(Value x) { return math::SqrtOp::create(b, loc, x); }
Value Scalars::tanh(Value x) { return math::TanhOp::create(b, loc, x); }
Value Scalars::erf(Value x) { return math::ErfOp::create(b, loc, x); }
Value Scalars::sigmoid(Value x) { return div(f(1), add(f(1), exp(neg(x)))); }
Value Scalars::select(Value c, Value x, Value y) {
  return arith::SelectOp::create(b, loc, c, x, y);
}
Value Scalars::eq(Value x, Value y) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, y);
}
Value Scalars::isNegInf(Value x) {
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, negInf());
}

Value Scalars::clampedIndex(Value id, int64_t size) {
  Type type = id.getType();
  Value low = arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, 0));
  Value high =
      arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, size - 1));
  id = arith::MaxSIOp::create(b, loc, id, low);
  id = arith::MinSIOp::create(b, loc, id, high);
  return arith::IndexCastOp::create(b, loc, b.getIndexType(), id);
}

Value Scalars::rounded(Value x, Type element) {
  return convertFloat(b, loc, convertFloat(b, loc, x, element), compute);
}

// f8E4M3FN: sign, 4 bits of exponent with bias 7, 3 of mantissa; no infinity,
// 0x7f is NaN, the largest value 0x7e is 448 (OCP OFP8). LLVM has no 8-bit
// floats, so conversions are integer arithmetic on the bits.
static Value widenFloat8(OpBuilder &b, Location loc, Value x) {
  Scalars s(b, loc, b.getF32Type());
  Type i32 = b.getI32Type();
  Value bits = arith::BitcastOp::create(b, loc, b.getI8Type(), x);
  bits = arith::ExtUIOp::create(b, loc, i32, bits);
  Value sign = arith::ShLIOp::create(
      b, loc, arith::AndIOp::create(b, loc, bits, s.i32(0x80)), s.i32(24));
  Value magnitude = arith::AndIOp::create(b, loc, bits, s.i32(0x7f));
  // With the small exponent field the f32 is too small by 2^-120; this also
  // holds for subnormals of the 8-bit type.
  Value shifted = arith::ShLIOp::create(b, loc, magnitude, s.i32(20));
  Value scaled = s.mul(
      arith::BitcastOp::create(b, loc, b.getF32Type(), shifted), s.f(0x1p120));
  Value result = arith::OrIOp::create(
      b, loc, arith::BitcastOp::create(b, loc, i32, scaled), sign);
  Value isNan = s.eq(magnitude, s.i32(0x7f));
  result = s.select(
      isNan, arith::OrIOp::create(b, loc, sign, s.i32(0x7fc00000)), result);
  return arith::BitcastOp::create(b, loc, b.getF32Type(), result);
}

static Value narrowFloat8(OpBuilder &b, Location loc, Value x, Type to) {
  Scalars s(b, loc, b.getF32Type());
  Type i32 = b.getI32Type();
  Value bits = arith::BitcastOp::create(b, loc, i32, x);
  Value sign = arith::AndIOp::create(
      b, loc, arith::ShRUIOp::create(b, loc, bits, s.i32(24)), s.i32(0x80));
  Value magnitude = arith::AndIOp::create(b, loc, bits, s.i32(0x7fffffff));
  // Normal results (>= 2^-6): drop 20 bits of mantissa, ties to even.
  Value odd = arith::AndIOp::create(
      b, loc, arith::ShRUIOp::create(b, loc, magnitude, s.i32(20)), s.i32(1));
  Value normal = arith::AddIOp::create(b, loc, magnitude, s.i32(0x7ffff));
  normal = arith::AddIOp::create(b, loc, normal, odd);
  normal = arith::ShRUIOp::create(b, loc, normal, s.i32(20));
  normal = arith::SubIOp::create(b, loc, normal, s.i32(120 << 3));
  // Subnormal results are multiples of 2^-9: adding 2^14 makes the hardware
  // round there, and the low bits are the result.
  Value positive = arith::BitcastOp::create(b, loc, b.getF32Type(), magnitude);
  Value tiny =
      arith::BitcastOp::create(b, loc, i32, s.add(positive, s.f(0x1p14)));
  tiny = arith::AndIOp::create(b, loc, tiny, s.i32(0xff));
  Value isTiny = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                       magnitude, s.i32(121 << 23));
  // Values above 464, halfway past the largest number 448, become NaN.
  Value isOver = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt,
                                       magnitude, s.i32(0x43e80000));
  Value result = s.select(isTiny, tiny, normal);
  result = s.select(isOver, s.i32(0x7f), result);
  result = arith::OrIOp::create(b, loc, result, sign);
  result = arith::TruncIOp::create(b, loc, b.getI8Type(), result);
  return arith::BitcastOp::create(b, loc, to, result);
}

Value convertFloat(OpBuilder &b, Location loc, Value x, Type to) {
  Type from = x.getType();
  if (from == to)
    return x;
  Type f32 = b.getF32Type();
  if (isa<Float8E4M3FNType>(from))
    return convertFloat(b, loc, widenFloat8(b, loc, x), to);
  if (isa<Float8E4M3FNType>(to))
    return narrowFloat8(b, loc, convertFloat(b, loc, x, f32), to);
  unsigned width = from.getIntOrFloatBitWidth();
  unsigned target = to.getIntOrFloatBitWidth();
  if (width == 16 && target != 32)
    return convertFloat(b, loc, arith::ExtFOp::create(b, loc, f32, x), to);
  if (width == 64 && target == 16)
    return convertFloat(b, loc, arith::TruncFOp::create(b, loc, f32, x), to);
  if (width < target)
    return arith::ExtFOp::create(b, loc, to, x);
  return arith::TruncFOp::create(b, loc, to, x);
}

} // namespace act
