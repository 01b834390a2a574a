// SPDX-License-Identifier: Apache-2.0
//
// Functions that PTX does not have, out of arithmetic. Where f32 arithmetic
// would lose digits, they compute in f64. The hardware's approximations stand
// for exp2, and for others with `fastmath<afn>`.
#include "passes/tile-to-nvvm/Functions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace act;

namespace {

using P = arith::CmpFPredicate;

class FunctionBuilder {
public:
  FunctionBuilder(OpBuilder &b, Location loc)
      : b(b), loc(loc), f32(b.getF32Type()), f64(b.getF64Type()) {}

  Value sine(Value x, bool cosine);
  Value power(Value x, Value y);
  Value sinh(Value x);
  Value cosh(Value x);
  Value asinh(Value x);
  Value acosh(Value x);
  Value atanh(Value x);
  Value reciprocalRoot(Value x, Type type);
  Value intrinsic(StringRef name, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(b, loc, f32, b.getStringAttr(name),
                                         operands)
        .getResults();
  }
  /// A unary instruction without an LLVM intrinsic.
  Value instruction(StringRef text, Value x) {
    return LLVM::InlineAsmOp::create(b, loc, f32, x, text, "=f,f",
                                     /*has_side_effects=*/false,
                                     /*is_align_stack=*/false,
                                     LLVM::TailCallKind::None, nullptr, nullptr)
        .getResult(0);
  }
  Value scaled(Value x, double by) { return mul(x, number(x.getType(), by)); }
  Value number(Type type, double value) {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  Value clamped(Value x, Value least, Value most) {
    return arith::MinimumFOp::create(
        b, loc, arith::MaximumFOp::create(b, loc, x, least), most);
  }

private:
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, loc, x, y, z);
  }
  Value select(Value c, Value x, Value y) {
    return arith::SelectOp::create(b, loc, c, x, y);
  }
  Value both(Value x, Value y) { return arith::AndIOp::create(b, loc, x, y); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, loc, x, y); }
  Value is(arith::CmpFPredicate p, Value x, Value y) {
    return arith::CmpFOp::create(b, loc, p, x, y);
  }
  Value is(arith::CmpFPredicate p, Value x, double y) {
    return is(p, x, number(x.getType(), y));
  }
  Value d(double value) { return number(f64, value); }
  Value whole(Value x) { return math::RoundEvenOp::create(b, loc, x); }
  Value low(Value x) { return math::FloorOp::create(b, loc, x); }
  Value positive(Value x) { return math::AbsFOp::create(b, loc, x); }
  Value wide(Value x) {
    return x.getType() == f64 ? x : arith::ExtFOp::create(b, loc, f64, x);
  }
  /// An f64 rounded to the requested type.
  Value rounded(Value x, Type type) {
    return type == f64 ? x : arith::TruncFOp::create(b, loc, type, x);
  }
  /// c[0] + c[1] x + c[2] x² + ...
  Value polynomial(Value x, ArrayRef<double> c) {
    Value sum = number(x.getType(), c.back());
    for (double next : llvm::reverse(c.drop_back()))
      sum = fma(sum, x, number(x.getType(), next));
    return sum;
  }
  Value log2(Value x);
  Value exp2(Value x);
  Value root(Value x) { return math::SqrtOp::create(b, loc, x); }
  Value log(Value x) { return scaled(log2(x), M_LN2); }
  /// e^|x| / 2 of an f32, in f64; |x| is clamped to 90, beyond f32's range.
  Value halfExp(Value x) {
    Value size = wide(positive(x));
    size = select(is(P::OLT, size, 90), size, d(90));
    return scaled(exp2(scaled(size, M_LOG2E)), 0.5);
  }
  /// x (1 + c[1] x² + c[2] x⁴ ...) below 2^-8, else `value`; all f64.
  Value unlessSmall(Value x, Value value, ArrayRef<double> c) {
    Value series = mul(polynomial(mul(x, x), c), x);
    return select(is(P::OLT, x, 0x1p-8), series, value);
  }
  /// An odd function's f64 value at |x|, with the sign of the f32 x; NaN gives
  /// x.
  Value odd(Value value, Value x) {
    value = math::CopySignOp::create(b, loc, rounded(value, f32), x);
    return select(is(P::UNO, x, x), x, value);
  }

  OpBuilder &b;
  Location loc;
  Type f32, f64;
};

} // namespace

/// In f64: x minus a multiple k of π/2. π/2 is split in two numbers, and an fma
/// keeps all digits of the product, so the remainder is good to 1e-16 up to |x|
/// = 2^53, though k may be off by one from 2^50 on. Beyond that no digit of the
/// angle is left, and x is taken as k π/2 (an infinite x gives NaN). Then
/// Taylor polynomials: on [-π/4, π/4] the error is 7e-12 where f32 is wanted,
/// 1e-16 for f64; on [-1.7, 1.7] it is 2e-7 and 2e-13.
Value FunctionBuilder::sine(Value x, bool cosine) {
  Value angle = wide(x);
  Value k = whole(mul(angle, d(2 / M_PI)));
  Value r = fma(k, d(-0x1.921fb54442d18p+0), angle);
  r = fma(k, d(-0x1.1a62633145c07p-54), r);
  r = select(is(P::OLT, positive(angle), 0x1p53), r, sub(r, r));
  Value r2 = mul(r, r);
  // 1/n! with the signs of the series, from n = 1 and from n = 0.
  SmallVector<double> odds{1}, evens{1};
  for (int n = 2, last = x.getType() == f64 ? 18 : 12; n <= last; ++n) {
    SmallVector<double> &terms = n % 2 ? odds : evens;
    terms.push_back(-terms.back() / (double(n) * (n - 1)));
  }
  Value s = mul(polynomial(r2, odds), r);
  Value c = polynomial(r2, evens);
  // The quadrant as a fraction of a turn: 0, 1/4, 1/2 or 3/4.
  Value turns = mul(k, d(0.25));
  turns = sub(turns, low(turns));
  Value first = is(P::OEQ, turns, 0.25), second = is(P::OEQ, turns, 0.5),
        third = is(P::OEQ, turns, 0.75);
  Value odd = either(first, third);
  Value value = cosine ? select(odd, s, c) : select(odd, c, s);
  Value negative = cosine ? either(first, second) : either(second, third);
  value = select(negative, arith::NegFOp::create(b, loc, value), value);
  value = rounded(value, x.getType());
  if (cosine)
    return value;
  // Small angles return x, which keeps the sign of zero.
  double small = x.getType() == f64 ? 0x1p-27 : 0x1p-12;
  return select(is(P::OLT, positive(x), small), x, value);
}

/// log2 of a positive normal f64: the exponent plus the log of the mantissa m
/// in [√½, √2), by the series of atanh in (m - 1) / (m + 1); error 1e-15.
Value FunctionBuilder::log2(Value x) {
  Type i64 = b.getI64Type();
  auto integer = [&](int64_t n) -> Value {
    return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(n));
  };
  Value bits = arith::BitcastOp::create(b, loc, i64, x);
  // Mantissas from √2 on count to the next exponent.
  constexpr int64_t half = 0x3fe6a09e667f3bcd; // √½
  Value above = arith::SubIOp::create(b, loc, bits, integer(half));
  Value exponent = arith::ShRSIOp::create(b, loc, above, integer(52));
  Value rest = arith::SubIOp::create(
      b, loc, bits, arith::ShLIOp::create(b, loc, exponent, integer(52)));
  Value m = arith::BitcastOp::create(b, loc, f64, rest);
  Value s = div(sub(m, d(1)), add(m, d(1)));
  SmallVector<double> series;
  for (int i = 1; i <= 17; i += 2)
    series.push_back(2 / M_LN2 / i);
  Value fraction = mul(polynomial(mul(s, s), series), s);
  return add(arith::SIToFPOp::create(b, loc, f64, exponent), fraction);
}

/// 2^x for an f64 within ±1000: Taylor polynomial of degree 11, error 1e-14.
Value FunctionBuilder::exp2(Value x) {
  Value k = whole(x), f = sub(x, k);
  SmallVector<double> series = {1};
  for (int i = 1; i <= 11; ++i)
    series.push_back(series.back() * M_LN2 / i);
  Value fraction = polynomial(f, series);
  Value n = arith::FPToSIOp::create(b, loc, b.getI64Type(), k);
  Value shift = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(52));
  Value bits = arith::BitcastOp::create(b, loc, b.getI64Type(), fraction);
  bits = arith::AddIOp::create(b, loc, bits,
                               arith::ShLIOp::create(b, loc, n, shift));
  return arith::BitcastOp::create(b, loc, f64, bits);
}

/// |x|^y as 2^(y log2 |x|) in f64, then the special cases of C's pow. For f64
/// the relative error is 1e-15 |y log2 |x||, and denormal results are 0.
Value FunctionBuilder::power(Value x, Value y) {
  Type type = x.getType();
  Value size = wide(positive(x)), exponent = wide(y);
  Value t = mul(exponent, log2(size));
  // 0 and infinity have no mantissa; NaN comes back below.
  Value infinite = number(f64, INFINITY);
  Value end = select(is(P::OEQ, size, 0.0), number(f64, -INFINITY), infinite);
  Value atEnd = either(is(P::OEQ, size, 0.0), is(P::OEQ, size, infinite));
  t = select(atEnd, mul(exponent, end), t);
  // fptosi must not get poison; 2^1024 is infinite.
  Value vanishes = is(P::OLE, t, -1022);
  t = select(is(P::OLT, t, 1024), t, d(1024));
  t = select(vanishes, d(-1022), t);
  Value value = rounded(select(vanishes, d(0), exp2(t)), type);
  // A negative base needs an integer exponent, whose parity gives the sign.
  Value isWhole = is(P::OEQ, low(exponent), exponent);
  Value halved = scaled(exponent, 0.5);
  Value isOdd = both(isWhole, is(P::ONE, low(halved), halved));
  Type word = b.getIntegerType(type.getIntOrFloatBitWidth());
  Value bits = arith::BitcastOp::create(b, loc, word, x);
  Value zero = arith::ConstantOp::create(b, loc, b.getIntegerAttr(word, 0));
  Value negative =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, bits, zero);
  value = select(both(negative, isOdd),
                 arith::NegFOp::create(b, loc, value).getResult(), value);
  Value nan = number(type, NAN);
  Value noRoot =
      both(is(P::OLT, x, 0.0), both(is(P::ONE, low(exponent), exponent),
                                    is(P::ONE, x, number(type, -INFINITY))));
  value = select(noRoot, nan, value);
  value = select(is(P::UNO, x, y), nan, value);
  Value one = number(type, 1);
  // 1 to any power, anything to the power 0, -1 to an infinite power.
  Value unit = either(is(P::OEQ, x, 1.0), is(P::OEQ, y, 0.0));
  unit = either(unit, both(is(P::OEQ, x, -1.0),
                           is(P::OEQ, positive(y), number(type, INFINITY))));
  return select(unit, one, value);
}

/// Both operations round correctly, as on the host.
Value FunctionBuilder::reciprocalRoot(Value x, Type type) {
  return div(number(type, 1), math::SqrtOp::create(b, loc, x));
}

/// Hyperbolic functions take f32 and compute in f64, where the errors of exp2
/// and log2 are far below f32's last digit. Near 0, odd functions would
/// subtract nearly equal numbers, so they use series. For large |x| f64 has
/// room for all squares.
Value FunctionBuilder::sinh(Value x) {
  Value half = halfExp(x);
  Value value = sub(half, div(d(0.25), half));
  return odd(unlessSmall(wide(positive(x)), value, {1, 1. / 6, 1. / 120}), x);
}

Value FunctionBuilder::cosh(Value x) {
  Value half = halfExp(x);
  Value value = rounded(add(half, div(d(0.25), half)), f32);
  return select(is(P::UNO, x, x), x, value);
}

Value FunctionBuilder::asinh(Value x) {
  Value size = wide(positive(x));
  Value value = log(add(size, root(fma(size, size, d(1)))));
  value = unlessSmall(size, value, {1, -1. / 6, 3. / 40});
  // Infinity has no mantissa.
  return odd(select(is(P::OEQ, size, INFINITY), size, value), x);
}

Value FunctionBuilder::acosh(Value x) {
  Value size = wide(x);
  Value value = log(add(size, root(fma(size, size, d(-1)))));
  value = select(is(P::OEQ, size, INFINITY), size, value);
  return rounded(select(is(P::OGE, size, 1), value, d(NAN)), f32);
}

Value FunctionBuilder::atanh(Value x) {
  Value size = wide(positive(x));
  Value value = scaled(log(div(add(d(1), size), sub(d(1), size))), 0.5);
  value = unlessSmall(size, value, {1, 1. / 3, 1. / 5});
  value = select(is(P::OLT, size, 1), value,
                 select(is(P::OEQ, size, 1), d(INFINITY), d(NAN)));
  return odd(value, x);
}

bool tile::isGpuFunction(Operation *op) {
  return isa<math::Exp2Op, math::ExpOp, math::LogOp, math::Log2Op,
             math::Log10Op, math::RsqrtOp, math::SqrtOp, math::SinOp,
             math::CosOp, math::TanhOp, math::PowFOp, math::TanOp, math::SinhOp,
             math::CoshOp, math::AsinhOp, math::AcoshOp, math::AtanhOp,
             math::ClampFOp>(op);
}

/// `fastmath<afn>`: only the hardware's approximation.
static Value approximated(Operation *op, FunctionBuilder b) {
  Value x = op->getOperand(0);
  if (isa<math::ExpOp>(op))
    return b.intrinsic("llvm.nvvm.ex2.approx.ftz", b.scaled(x, M_LOG2E));
  if (isa<math::LogOp>(op))
    return b.scaled(b.intrinsic("llvm.nvvm.lg2.approx.f", x), M_LN2);
  if (isa<math::Log2Op>(op))
    return b.intrinsic("llvm.nvvm.lg2.approx.f", x);
  if (isa<math::Log10Op>(op))
    return b.scaled(b.intrinsic("llvm.nvvm.lg2.approx.f", x), M_LN2 / M_LN10);
  if (isa<math::RsqrtOp>(op))
    return b.intrinsic("llvm.nvvm.rsqrt.approx.f", x);
  if (isa<math::SqrtOp>(op))
    return b.intrinsic("llvm.nvvm.sqrt.approx.f", x);
  if (isa<math::SinOp>(op))
    return b.intrinsic("llvm.nvvm.sin.approx.f", x);
  if (isa<math::CosOp>(op))
    return b.intrinsic("llvm.nvvm.cos.approx.f", x);
  if (isa<math::TanhOp>(op))
    return b.instruction("tanh.approx.f32 $0, $1;", x);
  if (isa<arith::DivFOp>(op))
    return b.intrinsic("llvm.nvvm.div.full", op->getOperands());
  return Value();
}

Value tile::expandGpuFunction(Operation *op, OpBuilder &builder) {
  if (!isGpuFunction(op) && !isa<arith::DivFOp>(op))
    return Value();
  Type type = op->getResult(0).getType();
  FunctionBuilder b(builder, op->getLoc());
  if (type.isF64() && isa<math::RsqrtOp>(op))
    return b.reciprocalRoot(op->getOperand(0), type);
  if (type.isF64() && isa<math::SinOp, math::CosOp>(op))
    return b.sine(op->getOperand(0), isa<math::CosOp>(op));
  if (type.isF64() && isa<math::PowFOp>(op))
    return b.power(op->getOperand(0), op->getOperand(1));
  if (type.isF32() || type.isF64()) {
    if (auto clamp = dyn_cast<math::ClampFOp>(op))
      return b.clamped(clamp.getValue(), clamp.getMin(), clamp.getMax());
    if (isa<math::TanOp>(op)) {
      Value x = op->getOperand(0);
      return b.div(math::SinOp::create(builder, op->getLoc(), x),
                   math::CosOp::create(builder, op->getLoc(), x));
    }
  }
  if (!type.isF32())
    return Value();
  auto flags = cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr();
  if (flags &&
      arith::bitEnumContainsAll(flags.getValue(), arith::FastMathFlags::afn))
    if (Value value = approximated(op, b))
      return value;
  Value x = op->getOperand(0);
  if (isa<math::Exp2Op>(op))
    return b.intrinsic("llvm.nvvm.ex2.approx.ftz", x);
  if (isa<math::Log10Op>(op))
    return b.scaled(math::LogOp::create(builder, op->getLoc(), x),
                    M_LN2 / M_LN10 / M_LN2);
  if (isa<math::RsqrtOp>(op))
    return b.reciprocalRoot(x, type);
  if (isa<math::SinOp, math::CosOp>(op))
    return b.sine(x, isa<math::CosOp>(op));
  if (isa<math::PowFOp>(op))
    return b.power(x, op->getOperand(1));
  if (isa<math::SinhOp>(op))
    return b.sinh(x);
  if (isa<math::CoshOp>(op))
    return b.cosh(x);
  if (isa<math::AsinhOp>(op))
    return b.asinh(x);
  if (isa<math::AcoshOp>(op))
    return b.acosh(x);
  if (isa<math::AtanhOp>(op))
    return b.atanh(x);
  return Value();
}
