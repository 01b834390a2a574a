// SPDX-License-Identifier: Apache-2.0
//
// Which lane holds which element of a matrix, in which register.
//
// mma and wgmma distribute a matrix over the 32 lanes of a warp in one scheme
// for all types. Lane l = 4 g + t belongs to group g; a 32-bit register holds
// e = 32 / element bits neighbours (64-bit elements: one per register).
//
//     A  M×K  row g (and g + 8)     columns t·e ... t·e + e − 1 of a slab of
//                                   4 e columns; registers: rows first, then
//                                   the next slab
//     B  K×N  column g              rows t·e ... of a slab of 4 e rows
//     C  M×N  row g (and g + 8)     columns 2 t, 2 t + 1; the next 8 columns
//                                   follow (wgmma: N / 8 times)
//
//     m16n8k16, 16 bits, A:   col 0 1  2 3  4 5  6 7 | 8 9 ...
//                      row 0  l0 r0    l1 r0  ...    | l0 r2
//                      row 8  l0 r1    l1 r1         | l0 r3
//
// wgmma's M is 64: warp w of the warpgroup holds rows 16 w to 16 w + 15 the way
// mma holds 16 rows. mma.m8n8k4 for f16 is four small products at once, product
// q by lanes 4 q ... 4 q + 3 and 16 + 4 q ... 16 + 4 q + 3, with its own
// scheme.
//
// The ISA does not define wmma's fragments. Here the matrix is stored in order
// (A by rows, B by columns, C by rows), one register across all lanes after the
// other. If the ISA gives more registers than the matrix fills, it repeats.
#ifndef ACT_RUNTIME_SIM_LAYOUT_FRAGMENTS_H
#define ACT_RUNTIME_SIM_LAYOUT_FRAGMENTS_H
#include <cstdint>

namespace act::runtime::sim {

enum class Role : uint8_t { A, B, Accumulator };

/// `part` counts elements within the register, from the lowest bits.
struct Place {
  uint8_t lane = 0;
  uint8_t reg = 0;
  uint8_t part = 0;
  bool operator==(const Place &o) const {
    return lane == o.lane && reg == o.reg && part == o.part;
  }
};

/// mma.sync, and one warp's 16 rows of wgmma. `bits` of an element: 1, 4, 8,
/// 16, 32 or 64; `row`, `col` in the matrix of that role (B: row is along K).
Place placeInMma(Role role, unsigned bits, unsigned row, unsigned col);
/// Registers of a lane for a rows × cols matrix.
unsigned registersInMma(Role role, unsigned bits, unsigned rows, unsigned cols);

/// mma.m8n8k4 with f16 operands: product q of four. `bits` is 32 for an f32
/// accumulator, else 16; `major`: the operand is .row (A) or .col (B), along K.
Place placeInMma884(Role role, unsigned bits, bool alongK, unsigned q,
                    unsigned row, unsigned col);

/// wmma: a rows × cols matrix.
Place placeInWmma(Role role, unsigned bits, unsigned rows, unsigned cols,
                  unsigned row, unsigned col);

/// ldmatrix, stmatrix, movmatrix: an 8 × 8 matrix of 16-bit elements.
inline Place placeInMatrix8x8(unsigned row, unsigned col) {
  return {uint8_t(row * 4 + col / 2), 0, uint8_t(col % 2)};
}

} // namespace act::runtime::sim
#endif
