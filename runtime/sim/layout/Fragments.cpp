// SPDX-License-Identifier: Apache-2.0
//
// Which lane holds which element of an operand: the fragment tables of the PTX
// ISA as formulas.
#include "runtime/sim/layout/Fragments.h"

namespace act::runtime::sim {

static unsigned perRegister(unsigned bits) {
  return bits >= 32 ? 1 : 32 / bits;
}

static Place place(unsigned lane, unsigned reg, unsigned part) {
  return {uint8_t(lane), uint8_t(reg), uint8_t(part)};
}

Place placeInMma(Role role, unsigned bits, unsigned row, unsigned col) {
  unsigned e = perRegister(bits), slab = 4 * e;
  switch (role) {
  case Role::A:
    return place(row % 8 * 4 + col % slab / e, row / 8 % 2 + col / slab * 2,
                 col % e);
  case Role::B:
    return place(col % 8 * 4 + row % slab / e, row / slab, row % e);
  case Role::Accumulator:
    break;
  }
  // Pairs of neighbours, whatever the width: 16-bit pairs share a register.
  unsigned pair = col / 8 * 2 + row / 8 % 2, lane = row % 8 * 4 + col % 8 / 2;
  return bits == 16 ? place(lane, pair, col % 2)
                    : place(lane, pair * 2 + col % 2, 0);
}

unsigned registersInMma(Role role, unsigned bits, unsigned rows,
                        unsigned cols) {
  (void)role;
  unsigned elements = rows * cols / 32;
  return elements / perRegister(bits);
}

Place placeInMma884(Role role, unsigned bits, bool alongK, unsigned q,
                    unsigned row, unsigned col) {
  auto laneOf = [&](unsigned high, unsigned low) {
    return high * 16 + q * 4 + low;
  };
  switch (role) {
  case Role::A: // 8 × 4
    return alongK ? place(laneOf(row / 4, row % 4), col / 2, col % 2)
                  : place(laneOf(row / 4, col), row % 4 / 2, row % 2);
  case Role::B: // 4 × 8
    return alongK ? place(laneOf(col / 4, col % 4), row / 2, row % 2)
                  : place(laneOf(col / 4, row), col % 4 / 2, col % 2);
  case Role::Accumulator:
    break;
  }
  if (bits == 16)
    return place(laneOf(row / 4, row % 4), col / 2, col % 2);
  // Bit 1 of the column and bit 0 of the row choose the lane, the rest the
  // register.
  return place(laneOf(row / 4, (col & 2) | (row & 1)),
               (col & 4) | (row & 2) | (col & 1), 0);
}

Place placeInWmma(Role role, unsigned bits, unsigned rows, unsigned cols,
                  unsigned row, unsigned col) {
  unsigned index = role == Role::B ? col * rows + row : row * cols + col;
  unsigned e = perRegister(bits), word = index / e;
  return place(word % 32, word / 32, index % e);
}

} // namespace act::runtime::sim
