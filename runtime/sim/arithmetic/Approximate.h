// SPDX-License-Identifier: Apache-2.0
//
// The functions that PTX only approximates: ex2, lg2, sin, cos, tanh, rcp,
// rsqrt, sqrt, division. With seed 0 the result is that of double precision,
// rounded. Another seed adds an error up to the bound that the PTX ISA states
// (the table in Approximate.cpp), to expose programs that rely on more. The
// error depends only on the seed and the operands: as on a card, equal operands
// give equal results, and programs rely on that (two warps that write one
// result).
#ifndef ACT_RUNTIME_SIM_ARITHMETIC_APPROXIMATE_H
#define ACT_RUNTIME_SIM_ARITHMETIC_APPROXIMATE_H
#include "runtime/sim/arithmetic/Numerics.h"
#include "runtime/sim/arithmetic/Random.h"

namespace act::runtime::sim {

enum class Approximation : uint8_t {
  Rcp,
  Sqrt,
  Rsqrt,
  Rsqrt64,
  Sin,
  Cos,
  Lg2,
  Ex2,
  Tanh,
  Ex2Half,
  Ex2BFloat,
  TanhHalf,
  TanhBFloat,
  Divide,
  DivideFull,
  Count
};

struct Bound {
  enum Measure : uint8_t { Ulp, Relative, Absolute, None } measure;
  double amount;
};
/// The largest error of `function` at `input` (for division: the divisor),
/// where `exact` is its value.
Bound boundOf(Approximation function, double input, double exact);

/// The value before rounding, special cases included (NaN where there is none).
double exactValue(Approximation function, double input);

/// ex2 of 32 numbers: exactValue(), rounded to f32. Results of lanes not in
/// `active` are unspecified.
void exp2Lanes(const float *x, uint32_t active, float *results);

/// `exact` in format F: rounded to nearest if Random::roundsPlainly(), else
/// with an error within the bound. Special values (zero, infinity, NaN) are
/// exact, and so is ex2 of an integer.
template <class F>
typename F::Bits approximate(Approximation function, double input, double exact,
                             const Random &random);

extern template uint32_t approximate<F32>(Approximation, double, double,
                                          const Random &);
extern template uint16_t approximate<F16>(Approximation, double, double,
                                          const Random &);
extern template uint16_t approximate<BF16>(Approximation, double, double,
                                           const Random &);

} // namespace act::runtime::sim
#endif
