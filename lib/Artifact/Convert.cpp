// SPDX-License-Identifier: Apache-2.0
#include "act/Artifact/Convert.h"
#include "act/Artifact/Types.h"
#include <cmath>
#include <cstring>

using namespace act::artifact;

/// A small binary float: sign, exponent, mantissa; f8E4M3FN keeps only the
/// all-ones pattern for NaN and has no infinity.
struct Layout {
  int exponentBits, mantissaBits;
  bool finiteOnly;
  int bias() const { return (1 << (exponentBits - 1)) - 1; }
};
static constexpr Layout bf16{8, 7, false}, f16{5, 10, false}, f8{4, 3, true};

static double decode(Layout l, uint32_t bits) {
  uint32_t sign = bits >> (l.exponentBits + l.mantissaBits) & 1;
  uint32_t exponent = bits >> l.mantissaBits & ((1u << l.exponentBits) - 1);
  uint32_t mantissa = bits & ((1u << l.mantissaBits) - 1);
  uint32_t top = (1u << l.exponentBits) - 1;
  double value;
  if (exponent == top && !l.finiteOnly)
    value = mantissa ? NAN : INFINITY;
  else if (exponent == top && mantissa == (1u << l.mantissaBits) - 1)
    value = NAN;
  else if (exponent == 0)
    value = std::ldexp(mantissa, 1 - l.bias() - l.mantissaBits);
  else
    value = std::ldexp(mantissa + (1u << l.mantissaBits),
                       static_cast<int>(exponent) - l.bias() - l.mantissaBits);
  return sign ? -value : value;
}

static uint32_t encode(Layout l, double value) {
  uint32_t sign = std::signbit(value) ? 1u : 0u;
  sign <<= l.exponentBits + l.mantissaBits;
  uint32_t top = ((1u << l.exponentBits) - 1) << l.mantissaBits;
  uint32_t nan = l.finiteOnly ? top | ((1u << l.mantissaBits) - 1)
                              : top | 1u << (l.mantissaBits - 1);
  if (std::isnan(value))
    return sign | nan;
  uint32_t overflow = l.finiteOnly ? nan : top;
  double v = std::fabs(value);
  if (v == 0)
    return sign;
  if (std::isinf(v))
    return sign | overflow;
  int exponent;
  std::frexp(v, &exponent); // v = m * 2^exponent, m in [0.5, 1)
  int e = exponent - 1 < 1 - l.bias() ? 1 - l.bias() : exponent - 1;
  // In units of the last place; the default rounding mode is to nearest even.
  double units = std::nearbyint(std::ldexp(v, l.mantissaBits - e));
  auto scaled = static_cast<uint64_t>(units);
  // A carry out of the mantissa moves into the exponent by itself.
  uint64_t bits =
      scaled + (static_cast<uint64_t>(e + l.bias() - 1) << l.mantissaBits);
  return sign | (bits >= overflow ? overflow : static_cast<uint32_t>(bits));
}

double act::artifact::loadFloat(DType type, const void *data, size_t i) {
  auto *p = static_cast<const uint8_t *>(data) + i * elementBytes(type);
  switch (type) {
  case DType::F64: {
    double v;
    std::memcpy(&v, p, 8);
    return v;
  }
  case DType::F32: {
    float v;
    std::memcpy(&v, p, 4);
    return v;
  }
  case DType::BF16:
  case DType::F16: {
    uint16_t v;
    std::memcpy(&v, p, 2);
    return decode(type == DType::BF16 ? bf16 : f16, v);
  }
  case DType::F8E4M3FN:
    return decode(f8, *p);
  default:
    return NAN;
  }
}

void act::artifact::storeFloat(DType type, void *data, size_t i, double value) {
  auto *p = static_cast<uint8_t *>(data) + i * elementBytes(type);
  switch (type) {
  case DType::F64:
    std::memcpy(p, &value, 8);
    break;
  case DType::F32: {
    float v = static_cast<float>(value);
    std::memcpy(p, &v, 4);
    break;
  }
  case DType::BF16:
  case DType::F16: {
    auto v =
        static_cast<uint16_t>(encode(type == DType::BF16 ? bf16 : f16, value));
    std::memcpy(p, &v, 2);
    break;
  }
  case DType::F8E4M3FN:
    *p = static_cast<uint8_t>(encode(f8, value));
    break;
  default:
    break;
  }
}

void act::artifact::convertFloats(DType from, const void *source, DType to,
                                  void *target, size_t n) {
  if (from == to) {
    if (n > 0)
      std::memcpy(target, source, n * elementBytes(from));
    return;
  }
  for (size_t i = 0; i < n; ++i)
    storeFloat(to, target, i, loadFloat(from, source, i));
}
