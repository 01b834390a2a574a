// SPDX-License-Identifier: Apache-2.0
//
// Conversions between float types. One pair of functions converts any element
// through double; common pairs have loops that compilers vectorise. Both give
// the same bits.
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

// ---- Many at a time
//
// Integer loops that the compiler vectorises. Each gives the same bits as
// loadFloat and storeFloat, for all patterns (test/runtime/StepTest.cpp).

static uint32_t bitsOf(float v) {
  uint32_t bits;
  std::memcpy(&bits, &v, 4);
  return bits;
}

static float floatOf(uint32_t bits) {
  float v;
  std::memcpy(&v, &bits, 4);
  return v;
}

// A NaN loses its payload.
static uint32_t widenBf16(uint16_t v) {
  uint32_t bits = uint32_t{v} << 16;
  return (v & 0x7fff) > 0x7f80 ? (bits & 0x80000000) | 0x7fc00000 : bits;
}

static uint16_t narrowToBf16(uint32_t bits) {
  uint32_t even = bits + 0x7fff + (bits >> 16 & 1);
  uint32_t nan = (bits & 0x80000000) | 0x7fc00000;
  return static_cast<uint16_t>(
      ((bits & 0x7fffffff) > 0x7f800000 ? nan : even) >> 16);
}

static uint32_t widenF16(uint16_t v) {
  uint32_t sign = uint32_t{v} << 16 & 0x80000000, rest = v & 0x7fff;
  // The exponents differ in bias (127, 15); subnormals are multiples of 2^-24.
  uint32_t normal = (rest << 13) + ((127u - 15u) << 23);
  uint32_t small =
      bitsOf(static_cast<float>(static_cast<int32_t>(rest)) * 0x1p-24f);
  uint32_t special = rest > 0x7c00 ? 0x7fc00000u : 0x7f800000u;
  return sign | (rest >= 0x7c00 ? special : rest < 0x400 ? small : normal);
}

static uint16_t narrowToF16(uint32_t bits) {
  uint32_t sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
  // Adding 0.5, whose last place is 2^-24, rounds to that, ties to even.
  uint32_t small = bitsOf(floatOf(rest) + 0.5f) - bitsOf(0.5f);
  uint32_t normal =
      (rest - ((127u - 15u) << 23) + 0xfff + (rest >> 13 & 1)) >> 13;
  uint32_t large = rest > 0x7f800000 ? 0x7e00u : 0x7c00u;
  // Values from 65520 on become infinity.
  uint32_t out = rest >= 0x477ff000  ? large
                 : rest < 0x38800000 ? small
                                     : normal;
  return static_cast<uint16_t>(sign | out);
}

// Accepts any alignment, because files do not align their elements.
template <typename From, typename To, typename Convert>
static void convertAll(const void *source, void *target, size_t n,
                       Convert convert) {
  auto *from = static_cast<const uint8_t *>(source);
  auto *to = static_cast<uint8_t *>(target);
  for (size_t i = 0; i < n; ++i) {
    From in;
    std::memcpy(&in, from + i * sizeof in, sizeof in);
    To out = convert(in);
    std::memcpy(to + i * sizeof out, &out, sizeof out);
  }
}

// Converts by a vectorised loop; false if there is none for these types.
static bool convertQuickly(DType from, const void *source, DType to,
                           void *target, size_t n) {
  if (from == DType::BF16 && to == DType::F32)
    convertAll<uint16_t, uint32_t>(source, target, n, widenBf16);
  else if (from == DType::F32 && to == DType::BF16)
    convertAll<uint32_t, uint16_t>(source, target, n, narrowToBf16);
  else if (from == DType::F16 && to == DType::F32)
    convertAll<uint16_t, uint32_t>(source, target, n, widenF16);
  else if (from == DType::F32 && to == DType::F16)
    convertAll<uint32_t, uint16_t>(source, target, n, narrowToF16);
  else if (from == DType::F16 && to == DType::BF16)
    convertAll<uint16_t, uint16_t>(source, target, n, [](uint16_t v) {
      return narrowToBf16(widenF16(v));
    });
  else if (from == DType::BF16 && to == DType::F16)
    convertAll<uint16_t, uint16_t>(source, target, n, [](uint16_t v) {
      return narrowToF16(widenBf16(v));
    });
  else
    return false;
  return true;
}

void act::artifact::convertFloats(DType from, const void *source, DType to,
                                  void *target, size_t n) {
  if (from == to) {
    if (n > 0)
      std::memcpy(target, source, n * elementBytes(from));
    return;
  }
  if (convertQuickly(from, source, to, target, n))
    return;
  for (size_t i = 0; i < n; ++i)
    storeFloat(to, target, i, loadFloat(from, source, i));
}

bool act::artifact::allFinite(DType type, const void *data, size_t n) {
  auto *bytes = static_cast<const uint8_t *>(data);
  // Infinities and NaNs have all exponent bits set.
  auto none = [&](auto word, auto exponent) {
    bool found = false;
    for (size_t i = 0; i < n; ++i) {
      std::memcpy(&word, bytes + i * sizeof word, sizeof word);
      found |= (word & exponent) == exponent;
    }
    return !found;
  };
  switch (type) {
  case DType::F64:
    return none(uint64_t{}, uint64_t{0x7ff0000000000000});
  case DType::F32:
    return none(uint32_t{}, uint32_t{0x7f800000});
  case DType::BF16:
    return none(uint16_t{}, uint16_t{0x7f80});
  case DType::F16:
    return none(uint16_t{}, uint16_t{0x7c00});
  case DType::F8E4M3FN: // one pattern is a NaN
    return none(uint8_t{}, uint8_t{0x7f});
  default:
    return true;
  }
}
