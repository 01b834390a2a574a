// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of atomics on one word, given as bits.
#include "runtime/sim/arithmetic/AtomicUpdate.h"
#include "runtime/sim/arithmetic/Numerics.h"
#include <cmath>
#include <cstring>

namespace act::runtime::sim {

using ptx::Type;

namespace {

template <typename T> T read(const void *p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

template <typename T> uint64_t bits(T v) {
  uint64_t out = 0;
  std::memcpy(&out, &v, sizeof v);
  return out;
}

float flushed(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}

// One 16-bit float, alone or of a pair: widened, combined, rounded once.
uint16_t combineHalf(AtomicOp op, bool bf16, uint16_t a, uint16_t b) {
  float x = bf16 ? fromBFloat(a) : fromHalf(a),
        y = bf16 ? fromBFloat(b) : fromHalf(b), r;
  if (op == AtomicOp::Add)
    r = x + y;
  else if (std::isnan(x) || std::isnan(y))
    r = std::isnan(x) ? y : x;
  else
    r = op == AtomicOp::Min ? std::fmin(x, y) : std::fmax(x, y);
  return bf16 ? toBFloat(r) : toHalf(r);
}

} // namespace

uint64_t AtomicUpdate::operator()(uint64_t old, uint64_t b, uint64_t c) const {
  using Op = AtomicOp;
  bool isSigned = type == Type::S32 || type == Type::S64;
  uint64_t mask = bytes == 8 ? ~uint64_t(0) : (uint64_t(1) << 8 * bytes) - 1;
  auto extend = [&](uint64_t v) {
    unsigned shift = 64 - 8 * bytes;
    return int64_t(v << shift) >> shift;
  };
  switch (op) {
  case Op::And:
    return old & b;
  case Op::Or:
    return old | b;
  case Op::Xor:
    return old ^ b;
  case Op::Cas:
    return old == (b & mask) ? c & mask : old;
  case Op::Exch:
    return b & mask;
  case Op::Inc:
    return old >= b ? 0 : old + 1;
  case Op::Dec:
    return old == 0 || old > b ? b : old - 1;
  case Op::Add:
  case Op::Min:
  case Op::Max:
    break;
  }
  switch (type) {
  case Type::F32: {
    float r = read<float>(&old) + read<float>(&b);
    if (ftz)
      r = flushed(flushed(read<float>(&old)) + flushed(read<float>(&b)));
    return std::isnan(r) ? 0x7fffffff : bits(r);
  }
  case Type::F64:
    return bits(read<double>(&old) + read<double>(&b));
  case Type::F16:
  case Type::BF16:
    return combineHalf(op, type == Type::BF16, uint16_t(old), uint16_t(b));
  case Type::F16x2:
  case Type::BF16x2: {
    bool bf16 = type == Type::BF16x2;
    return combineHalf(op, bf16, uint16_t(old), uint16_t(b)) |
           uint64_t(
               combineHalf(op, bf16, uint16_t(old >> 16), uint16_t(b >> 16)))
               << 16;
  }
  default:
    break;
  }
  if (op == Op::Add)
    return (old + b) & mask;
  bool less = isSigned ? extend(b) < extend(old) : (b & mask) < old;
  return less == (op == Op::Min) ? b & mask : old;
}

} // namespace act::runtime::sim
