// SPDX-License-Identifier: Apache-2.0
//
// Products of tiles: 16 rows of A by 8 columns of B, as mma.sync multiplies
// them; a warp's part of wgmma is a row of such tiles.
//
// Operands come as a warp holds them (Fragments.h): registers of 32 lanes, lane
// 4 g + t of group g. They are split into numbers and exponents once and used
// often. Sums stay in the lanes that hold them, so that no data moves:
//
//     sums[2 h + p][4 g + t]    row 8 h + g, column 2 t + p
//
// The operands are then laid out for vectors of 4, 8 or 16 lanes:
//
//     A   [k][h][4 g + t]       row 8 h + g, for every t
//     B   [k][p][t]             column 2 t + p; a vector repeats the four
//
//     sums[2 h + p][lanes] += A[k][h][lanes] * B[k][p][lanes % 4]
//
// A register of D holds one f32 or s32; with f16 it holds both p.
#ifndef ACT_RUNTIME_SIM_ARITHMETIC_PRODUCTTILE_H
#define ACT_RUNTIME_SIM_ARITHMETIC_PRODUCTTILE_H
#include "runtime/sim/arithmetic/TensorCore.h"
#include <cstdint>
#include <vector>

namespace act::runtime::sim {

struct TileSums {
  alignas(64) uint32_t words[4][32]; // codes of f32, f16 or s32
};

/// 16 rows of A. `words`: its registers; register 2 s + h has rows 8 h to
/// 8 h + 7 of slab s (32 / bits times four along K).
struct LeftTile {
  static constexpr unsigned mostRegisters = 4, mostK = 32, mostPairs = 32;
  Element type = Element::F16;
  unsigned registers = 0, k = 0;
  alignas(64) uint32_t words[mostRegisters][32] = {};
  alignas(64) float numbers[mostK][2][32];
  alignas(64) int16_t exponents[mostK][2][32];
  /// For integers instead: two neighbours along K, of 16 bits each.
  alignas(64) uint32_t pairs[mostPairs][2][32];
  uint32_t code(unsigned row, unsigned k) const;
};

/// 8 columns of B; register s is slab s.
struct RightTile {
  static constexpr unsigned mostRegisters = 2;
  Element type = Element::F16;
  unsigned registers = 0, k = 0;
  alignas(64) uint32_t words[mostRegisters][32] = {};
  alignas(64) float numbers[LeftTile::mostK][8];
  alignas(64) int16_t exponents[LeftTile::mostK][8];
  alignas(64) uint32_t pairs[LeftTile::mostPairs][8];
  uint32_t code(unsigned k, unsigned column) const;
};

/// d = a · b + c of single bits: the population count of a and b.
void multiplyBits(const LeftTile &a, const RightTile &b, const TileSums &c,
                  TileSums &d);
/// Fills in the members after `words` from `words` and the members before it.
void takeApart(LeftTile &);
void takeApart(RightTile &);
/// d = a · b + c, for narrow floating-point types; d must not be c.
void multiply(const Accumulation &how, const LeftTile &a, const RightTile &b,
              const TileSums &c, TileSums &d);
/// The same for integers of 4 or 8 bits; sums wrap around or saturate.
void multiply(const LeftTile &a, const RightTile &b, bool saturate,
              const TileSums &c, TileSums &d);

/// The functions that multiply tiles with vectors of one width.
struct TileKernels {
  unsigned lanes;
  void (*left)(LeftTile &); // takeApart()
  void (*right)(RightTile &);
  /// False: the fast path is not exact for these numbers, and d is not valid.
  bool (*plain)(const Accumulation &, const LeftTile &, const RightTile &,
                const TileSums &, TileSums &);
  void (*integers)(const LeftTile &, const RightTile &, const TileSums &,
                   TileSums &, bool saturate);
};
/// Those that this machine can run. The last is the fastest, and is used.
const std::vector<TileKernels> &tileKernels();

} // namespace act::runtime::sim
#endif
