// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of tensor cores: D = A · B + C for small matrices.
//
// Integers and f64 follow the ISA: integers are exact, with wrap-around or
// saturation; f64 is a chain of fused multiply-adds along K. For the narrow
// floating-point types the ISA leaves order, rounding and truncation open. The
// default is the model that was measured bit for bit on the hardware:
//
//   P. Xie, Y. Wang, F. Yang, M. Yang: MMA-Sim: Bit-Accurate Reference Model of
//   Tensor Cores and Matrix Cores, arXiv 2511.10909 (2025); the same features
//   as found by M. Fasi, N. Higham, M. Mikaitis, S. Pranesh: Numerical behavior
//   of NVIDIA tensor cores, PeerJ CS 7:e330 (2021) and by F. Khattak, M.
//   Mikaitis: Accurate Models of NVIDIA Tensor Cores, arXiv 2512.07004 (2025).
//
// K is split into blocks of L. For each block in turn
//
//     c ← round( 2^E · Σ trunc_F(term / 2^E) ),  terms: L products and c
//
//   - a product is exact; its exponent is the sum of its factors' exponents
//     (its significand lies in [1, 4) and is not normalised; subnormal factors
//     keep the exponent of the smallest normal number)
//   - E is the largest exponent of a term that is not zero, at least −126
//   - trunc_F truncates towards zero to multiples of 2^−F
//   - the sum is exact; it is rounded towards zero to f32 (below: RZ), or to 13
//     mantissa bits (RZ13), or to nearest even to f16 (for f16 accumulators);
//     from 2^128 on it is infinite
//   - ∞ − ∞, 0 · ∞ and NaN give the NaN 0x7fffffff (f16: 0x7fff)
//
//     instruction, target          L: f16, bf16   tf32   fp8     F    result
//     mma  sm_80, sm_86                 8           4     –     24      RZ
//     mma  sm_89                        8           4    16     24      RZ
//          fp8                                                  13      RZ13
//     mma  sm_90                       16           8    32     25      RZ
//     wgmma sm_90                      16           8    32     25      RZ
//          fp8                                                  13      RZ13
//     mma.m8n8k4 f16 (no hardware of its own on these): L = 4
//
// With a seed, order and truncation are drawn for each instruction within what
// the ISA allows: any order, blocks of 1 to K, products and sums of at least
// single precision (F from 23 to 27 counts as such), rounding towards zero or
// to nearest.
#ifndef ACT_RUNTIME_SIM_ARITHMETIC_TENSORCORE_H
#define ACT_RUNTIME_SIM_ARITHMETIC_TENSORCORE_H
#include "runtime/sim/arithmetic/Numerics.h"
#include "runtime/sim/arithmetic/Random.h"
#include <cstdint>

namespace act::runtime::sim {

enum class Element : uint8_t {
  F16,
  BF16,
  TF32,
  E4M3,
  E5M2,
  F64,
  S8,
  U8,
  S4,
  U4,
  B1
};
unsigned bitsOf(Element e);
inline bool isFloating(Element e) { return e <= Element::F64; }

/// How sums are formed; see the table above.
struct Accumulation {
  enum Result : uint8_t { RzF32, Rz13, RnF32, RnF16 };
  uint8_t block = 16;    // L
  uint8_t fraction = 25; // F
  Result result = RzF32;
  uint64_t order = 0; // not 0: seed of a permutation of K
};
enum class Unit : uint8_t { Mma, Mma884, Wgmma };
/// `a`: the type of the operands; `half`: the accumulator is f16.
Accumulation accumulationOf(uint32_t sm, Unit unit, Element a, bool half);
/// A random one that the ISA also allows.
Accumulation drawAccumulation(Random &random, unsigned k, bool half);
/// The one drawn by a launch's seed: equal products have equal sums in every
/// warp.
inline Accumulation seededAccumulation(const Random &of, unsigned k,
                                       bool half) {
  Random random(of.roundingSeed(), uint64_t(k) << 1 | half);
  return drawAccumulation(random, k, half);
}

struct Extent {
  unsigned m, n, k; // n a multiple of 8; k at most 32 (narrow floats)
};

/// Codes of narrow floating-point numbers, one per word: a[k][m], b[k][n]. c
/// and the result, in place: f32 bits, or f16 bits in words: c[m][n].
/// ProductTile.h multiplies operands in registers without this layout.
void multiply(const Accumulation &how, Extent extent, Element aType,
              Element bType, const uint32_t *a, const uint32_t *b, uint32_t *c);
/// a[m][k], b[k][n], c[m][n] in place.
void multiply(Extent extent, const double *a, const double *b, double *c,
              Rounding rounding);
void multiply(Extent extent, const int32_t *a, const int32_t *b, int32_t *c,
              bool saturate);
/// Bits: a[m][k / 32], b[n][k / 32]; the population count of a & b or a ^ b is
/// added.
void multiplyBits(Extent extent, const uint32_t *a, const uint32_t *b,
                  int32_t *c, bool exclusiveOr);

} // namespace act::runtime::sim
#endif
