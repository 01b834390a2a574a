// SPDX-License-Identifier: Apache-2.0
//
// Which sums a tensor core forms, by target and type, and products of types
// that need no model: f64, integers, bits.
#include "runtime/sim/arithmetic/TensorCore.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace act::runtime::sim {

unsigned bitsOf(Element e) {
  switch (e) {
  case Element::F64:
    return 64;
  case Element::TF32:
    return 32;
  case Element::F16:
  case Element::BF16:
    return 16;
  case Element::S4:
  case Element::U4:
    return 4;
  case Element::B1:
    return 1;
  default:
    return 8;
  }
}

Accumulation accumulationOf(uint32_t sm, Unit unit, Element a, bool half) {
  Accumulation r;
  unsigned bytes = bitsOf(a) / 8;
  bool eight = bytes == 1;
  r.block = uint8_t((sm >= 90 ? 32 : 16) / bytes);
  r.fraction = sm >= 90 ? 25 : 24;
  r.result = half ? Accumulation::RnF16 : Accumulation::RzF32;
  if (unit == Unit::Mma884)
    r.block = 4;
  if (eight && (unit == Unit::Wgmma || sm < 90)) {
    r.fraction = 13;
    r.result = half ? Accumulation::RnF16 : Accumulation::Rz13;
  }
  return r;
}

/// What the ISA leaves open for sums: blocks of any size, some extra bits,
/// truncation or rounding, any order.
Accumulation drawAccumulation(Random &random, unsigned k, bool half) {
  Accumulation r;
  unsigned powers = 1;
  while ((1u << powers) < k)
    ++powers;
  r.block = uint8_t(1u << random.below(powers + 1));
  r.fraction = uint8_t(23 + random.below(4));
  bool nearest = random.below(2);
  r.result = half      ? Accumulation::RnF16
             : nearest ? Accumulation::RnF32
                       : Accumulation::RzF32;
  r.order = random.next() | 1;
  return r;
}

void multiply(Extent x, const double *a, const double *b, double *c,
              Rounding rounding) {
  bool nearest = rounding == Rounding::None || rounding == Rounding::Rn;
  for (unsigned i = 0; i < x.m; ++i)
    for (unsigned j = 0; j < x.n; ++j) {
      double sum = c[i * x.n + j];
      for (unsigned l = 0; l < x.k; ++l) {
        double p = a[i * x.k + l], q = b[l * x.n + j];
        sum = nearest ? std::fma(p, q, sum) : fmaRounded(p, q, sum, rounding);
      }
      c[i * x.n + j] = sum;
    }
}

void multiply(Extent x, const int32_t *a, const int32_t *b, int32_t *c,
              bool saturate) {
  std::vector<int32_t> sums(x.n); // K products of 16 bits: no overflow
  for (unsigned i = 0; i < x.m; ++i) {
    std::fill(sums.begin(), sums.end(), 0);
    for (unsigned l = 0; l < x.k; ++l) {
      int32_t p = a[i * x.k + l];
      const int32_t *row = b + l * x.n;
      for (unsigned j = 0; j < x.n; ++j)
        sums[j] += p * row[j];
    }
    for (unsigned j = 0; j < x.n; ++j) {
      int64_t s = int64_t(c[i * x.n + j]) + sums[j];
      if (saturate)
        s = std::clamp<int64_t>(s, INT32_MIN, INT32_MAX);
      c[i * x.n + j] = int32_t(uint32_t(uint64_t(s)));
    }
  }
}

void multiplyBits(Extent x, const uint32_t *a, const uint32_t *b, int32_t *c,
                  bool exclusiveOr) {
  unsigned words = x.k / 32;
  for (unsigned i = 0; i < x.m; ++i)
    for (unsigned j = 0; j < x.n; ++j) {
      uint32_t sum = uint32_t(c[i * x.n + j]);
      for (unsigned l = 0; l < words; ++l) {
        uint32_t p = a[i * words + l], q = b[j * words + l];
        sum += uint32_t(__builtin_popcount(exclusiveOr ? p ^ q : p & q));
      }
      c[i * x.n + j] = int32_t(sum);
    }
}

} // namespace act::runtime::sim
