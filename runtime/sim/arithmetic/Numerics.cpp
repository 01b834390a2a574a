// SPDX-License-Identifier: Apache-2.0
//
// Rounding modes that the host's instructions do not have.
#include "runtime/sim/arithmetic/Numerics.h"
#include <cmath>

namespace act::runtime::sim {

/// The root of a float is a float, or differs from any by a relative 2^-48 or
/// more. So the root in double shows on which side of a float it lies.
float sqrtRounded(float a, Rounding r) {
  if (r == Rounding::Rn || r == Rounding::None)
    return std::sqrt(a);
  return roundTo<float>(std::sqrt(double(a)), r);
}

double sqrtRounded(double a, Rounding r) {
  double s = std::sqrt(a);
  if (r == Rounding::Rn || r == Rounding::None || !(s > 0) || std::isinf(s))
    return s;
  // The square has 106 bits and is exact in Quad, so the comparison is too.
  Quad square = Quad(s) * s;
  uint64_t u = as<uint64_t>(s);
  if (r == Rounding::Rp)
    return as<double>(square < a ? u + 1 : u);
  return as<double>(square > a ? u - 1 : u);
}

float integral(float x, Rounding r) {
  switch (r) {
  case Rounding::Rzi:
    return std::trunc(x);
  case Rounding::Rmi:
    return std::floor(x);
  case Rounding::Rpi:
    return std::ceil(x);
  default:
    return std::nearbyint(x); // the default environment: to even
  }
}

double integral(double x, Rounding r) {
  switch (r) {
  case Rounding::Rzi:
    return std::trunc(x);
  case Rounding::Rmi:
    return std::floor(x);
  case Rounding::Rpi:
    return std::ceil(x);
  default:
    return std::nearbyint(x);
  }
}

uint64_t toInteger(double x, Rounding r, unsigned bits, bool isSigned,
                   uint64_t ofNaN) {
  if (x != x)
    return ofNaN;
  double n = integral(x, r);
  double beyond = std::ldexp(1.0, int(bits) - isSigned); // largest plus one
  if (isSigned) {
    if (n >= beyond)
      return (uint64_t(1) << (bits - 1)) - 1;
    if (n < -beyond)
      return ~uint64_t(0) << (bits - 1);
    return uint64_t(int64_t(n));
  }
  if (n <= 0)
    return 0;
  if (n >= beyond)
    return bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  return uint64_t(n);
}

} // namespace act::runtime::sim
