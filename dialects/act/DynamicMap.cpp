// SPDX-License-Identifier: Apache-2.0
#include "dialects/act/DynamicMap.h"
#include <cmath>

using namespace mlir;

namespace act {

Value DynamicMap::compare(arith::CmpIPredicate p, Value x, int64_t y) {
  return arith::CmpIOp::create(s.b, s.loc, p, x, s.i32(y));
}
Value DynamicMap::compare(arith::CmpFPredicate p, Value x, Value y) {
  return arith::CmpFOp::create(s.b, s.loc, p, x, y);
}

// Rounded as torch.linspace and the table's maker round: b(i) is computed from
// the nearer end, with a fused multiply-add.
Value DynamicMap::magnitude(Value q) {
  const int64_t first = isSigned ? 0 : 1; // of p
  auto step = [&](int64_t p) {
    return double((1.0f - 0.1f) / float(int64_t(1) << p));
  };
  auto decade = [&](int64_t p) {
    return std::pow(10.0, double(p - first - 6));
  };
  Value power = s.i32(int64_t(1) << first), width = s.f(step(first)),
        scale = s.f(decade(first));
  for (int64_t p = first + 1; p < first + 7; ++p) {
    Value more = compare(arith::CmpIPredicate::sge, q, int64_t(1) << p);
    power = s.select(more, s.i32(int64_t(1) << p), power);
    width = s.select(more, s.f(step(p)), width);
    scale = s.select(more, s.f(decade(p)), scale);
  }
  Value i = arith::SubIOp::create(s.b, s.loc, q, power);
  Value half = arith::ShRUIOp::create(
      s.b, s.loc, arith::AddIOp::create(s.b, s.loc, power, s.i32(1)), s.i32(1));
  auto real = [&](Value n) -> Value {
    return arith::SIToFPOp::create(s.b, s.loc, s.compute, n);
  };
  auto boundary = [&](Value n) -> Value {
    Value fromEnd = arith::SubIOp::create(s.b, s.loc, power, n);
    Value low = math::FmaOp::create(s.b, s.loc, width, real(n), s.f(0.1f));
    Value high =
        math::FmaOp::create(s.b, s.loc, s.neg(width), real(fromEnd), s.f(1));
    Value isLow =
        arith::CmpIOp::create(s.b, s.loc, arith::CmpIPredicate::slt, n, half);
    return s.select(isLow, low, high);
  };
  Value next = arith::AddIOp::create(s.b, s.loc, i, s.i32(1));
  Value mean = s.mul(s.add(boundary(i), boundary(next)), s.f(0.5));
  return s.mul(scale, mean);
}

Value DynamicMap::decode(Value code) {
  auto plus = [&](Value x, int64_t y) -> Value {
    return arith::AddIOp::create(s.b, s.loc, x, s.i32(y));
  };
  Value value;
  if (isSigned) {
    // 127 is 0, what is below it is negative.
    Value negative = compare(arith::CmpIPredicate::slt, code, 127);
    Value mirrored = arith::SubIOp::create(s.b, s.loc, s.i32(127), code);
    Value q = s.select(negative, mirrored, plus(code, -127));
    value = magnitude(q);
    value = s.select(negative, s.neg(value), value);
    value =
        s.select(compare(arith::CmpIPredicate::eq, code, 127), s.f(0), value);
  } else {
    value = magnitude(plus(code, 1));
    value = s.select(compare(arith::CmpIPredicate::eq, code, 0), s.f(0), value);
  }
  return s.select(compare(arith::CmpIPredicate::eq, code, 255), s.f(1), value);
}

// A guess from the decade and the place in it, which is off by at most one: at
// the ends of a decade, and by rounding. The midpoints around it decide.
Value DynamicMap::encode(Value x) {
  Value size = math::AbsFOp::create(s.b, s.loc, x);
  const int64_t first = isSigned ? 0 : 1;
  auto decade = [&](int64_t p) {
    return std::pow(10.0, double(p - first - 6));
  };
  Value power = s.i32(int64_t(1) << first), scale = s.f(1 / decade(first)),
        count = s.f(double(int64_t(1) << first));
  for (int64_t p = first + 1; p < first + 7; ++p) {
    Value more = compare(arith::CmpFPredicate::OGE, size, s.f(0.1 * decade(p)));
    power = s.select(more, s.i32(int64_t(1) << p), power);
    scale = s.select(more, s.f(1 / decade(p)), scale);
    count = s.select(more, s.f(double(int64_t(1) << p)), count);
  }
  // (size / decade - 0.1) / 0.9 of the way through it.
  Value way = s.mul(s.sub(s.mul(size, scale), s.f(0.1)), s.f(1 / 0.9));
  way = s.min(s.max(s.mul(way, count), s.f(0)), s.sub(count, s.f(1)));
  Value place = arith::FPToSIOp::create(s.b, s.loc, s.b.getI32Type(), way);
  Value q = arith::AddIOp::create(s.b, s.loc, power, place);
  Value guess;
  if (isSigned) {
    Value up = arith::AddIOp::create(s.b, s.loc, q, s.i32(127));
    Value down = arith::SubIOp::create(s.b, s.loc, s.i32(127), q);
    guess = s.select(compare(arith::CmpFPredicate::OLT, x, s.f(0)), down, up);
  } else {
    guess = arith::SubIOp::create(s.b, s.loc, q, s.i32(1));
  }
  guess = arith::MaxSIOp::create(s.b, s.loc, guess, s.i32(1));
  guess = arith::MinSIOp::create(s.b, s.loc, guess, s.i32(254));
  auto beside = [&](int64_t k) -> Value {
    return arith::AddIOp::create(s.b, s.loc, guess, s.i32(k));
  };
  Value below = decode(beside(-1)), here = decode(guess),
        above = decode(beside(1));
  auto isBeyond = [&](Value v, Value w) {
    return compare(arith::CmpFPredicate::OGT, x, s.mul(s.add(v, w), s.f(0.5)));
  };
  Value code = s.select(isBeyond(below, here), guess, beside(-1));
  return s.select(isBeyond(here, above), beside(1), code);
}

} // namespace act
