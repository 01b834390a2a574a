// SPDX-License-Identifier: Apache-2.0
//
// Conversions of 8-bit floats as integer arithmetic (Float8.h). They round as
// PTX's cvt does, so a kernel has the same values on targets without that
// instruction.
#include "dialects/tile/Float8.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace act::tile;

bool act::tile::isFloat8(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(type);
}

static Value constant(OpBuilder &b, Location loc, Type type, int64_t n) {
  return arith::ConstantIntOp::create(b, loc, type, n);
}

/// e5m2 is the upper half of an f16. Shifted, e4m3fn's four exponent bits land
/// on f32's lowest four. Its bias is 7 instead of 127, so the result is 2^-120
/// of the number, for subnormals too.
Value act::tile::createExtFloat8(OpBuilder &b, Location loc, Value v) {
  Type i16 = b.getI16Type(), i32 = b.getI32Type(), f32 = b.getF32Type();
  Value bits = arith::BitcastOp::create(b, loc, b.getI8Type(), v);
  if (isa<Float8E5M2Type>(v.getType())) {
    Value wide =
        arith::ShLIOp::create(b, loc, arith::ExtUIOp::create(b, loc, i16, bits),
                              constant(b, loc, i16, 8));
    Value half = arith::BitcastOp::create(b, loc, b.getF16Type(), wide);
    return arith::ExtFOp::create(b, loc, f32, half);
  }
  Value wide = arith::ExtUIOp::create(b, loc, i32, bits);
  Value magnitude =
      arith::AndIOp::create(b, loc, wide, constant(b, loc, i32, 0x7f));
  Value sign = arith::ShLIOp::create(
      b, loc, arith::AndIOp::create(b, loc, wide, constant(b, loc, i32, 0x80)),
      constant(b, loc, i32, 24));
  Value shifted =
      arith::ShLIOp::create(b, loc, magnitude, constant(b, loc, i32, 20));
  Value scaled = arith::MulFOp::create(
      b, loc, arith::BitcastOp::create(b, loc, f32, shifted),
      arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0x1p120f)));
  Value isNan = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                      magnitude, constant(b, loc, i32, 0x7f));
  Value positive =
      arith::SelectOp::create(b, loc, isNan, constant(b, loc, i32, 0x7fc00000),
                              arith::BitcastOp::create(b, loc, i32, scaled));
  return arith::BitcastOp::create(b, loc, f32,
                                  arith::OrIOp::create(b, loc, positive, sign));
}

/// An f64 rounded to f32 with the last bit odd if inexact, so that a second
/// rounding gives the same as rounding once.
static Value roundToOdd(OpBuilder &b, Location loc, Value v) {
  Type i32 = b.getI32Type(), f32 = b.getF32Type();
  Value nearest = arith::TruncFOp::create(b, loc, f32, v);
  Value back = arith::ExtFOp::create(b, loc, v.getType(), nearest);
  Value bits = arith::BitcastOp::create(b, loc, i32, nearest);
  Value isOutward = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT,
                                          math::AbsFOp::create(b, loc, back),
                                          math::AbsFOp::create(b, loc, v));
  Value isInexact =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ONE, back, v);
  bits = arith::SubIOp::create(b, loc, bits,
                               arith::ExtUIOp::create(b, loc, i32, isOutward));
  bits = arith::OrIOp::create(b, loc, bits,
                              arith::ExtUIOp::create(b, loc, i32, isInexact));
  return arith::BitcastOp::create(b, loc, f32, bits);
}

Value act::tile::createTruncFloat8(OpBuilder &b, Location loc, Value v,
                                   Type to) {
  Type i32 = b.getI32Type(), f32 = b.getF32Type();
  auto number = [&](double x) -> Value {
    return arith::ConstantOp::create(b, loc,
                                     b.getF32FloatAttr(static_cast<float>(x)));
  };
  auto integer = [&](int64_t n) { return constant(b, loc, i32, n); };
  if (v.getType().isF64())
    v = roundToOdd(b, loc, v);
  else if (!v.getType().isF32())
    v = arith::ExtFOp::create(b, loc, f32, v);
  bool e4m3 = isa<Float8E4M3FNType>(to);
  int64_t mantissa = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15, least = 1 - bias;
  double largest = e4m3 ? 448 : 57344;

  Value bits = arith::BitcastOp::create(b, loc, i32, v);
  Value sign = arith::AndIOp::create(
      b, loc, arith::ShRUIOp::create(b, loc, bits, integer(24)), integer(0x80));
  Value isNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, v, v);
  Value magnitude = arith::BitcastOp::create(
      b, loc, f32, arith::AndIOp::create(b, loc, bits, integer(0x7fffffff)));
  Value isLarge = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT,
                                        magnitude, number(largest));
  magnitude =
      arith::SelectOp::create(b, loc, isLarge, number(largest), magnitude);
  bits = arith::BitcastOp::create(b, loc, i32, magnitude);

  // Half a unit minus the smallest bit, plus one if the unit is odd.
  int64_t shift = 23 - mantissa;
  Value odd = arith::AndIOp::create(
      b, loc, arith::ShRUIOp::create(b, loc, bits, integer(shift)), integer(1));
  Value normal =
      arith::AddIOp::create(b, loc, arith::AddIOp::create(b, loc, bits, odd),
                            integer((int64_t(1) << (shift - 1)) - 1 -
                                    ((127 - bias) << 23))); // of the other bias
  normal = arith::ShRUIOp::create(b, loc, normal, integer(shift));
  // Subnormals: add a number whose last bit has their unit.
  double unit = std::ldexp(1.0, static_cast<int>(least - mantissa + 23));
  Value small = arith::BitcastOp::create(
      b, loc, i32, arith::AddFOp::create(b, loc, magnitude, number(unit)));
  small = arith::SubIOp::create(
      b, loc, small, arith::BitcastOp::create(b, loc, i32, number(unit)));
  Value isSmall =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, magnitude,
                            number(std::ldexp(1.0, static_cast<int>(least))));
  Value code = arith::OrIOp::create(
      b, loc, arith::SelectOp::create(b, loc, isSmall, small, normal), sign);
  code = arith::SelectOp::create(b, loc, isNan, integer(0x7f), code);
  code = arith::TruncIOp::create(b, loc, b.getI8Type(), code);
  return arith::BitcastOp::create(b, loc, to, code);
}
