// SPDX-License-Identifier: Apache-2.0
//
// Whether and how a warp can load a layout from shared memory by ldmatrix.
//
// ldmatrix reads matrices of 8 rows of 16 bytes, 1, 2 or 4 at once. Lane i
// points at row i % 8 of matrix i / 8. Lane l gets one 32-bit register of each
// matrix: bytes 4 (l % 4) .. of row l / 4, or, with .trans and elements of 16
// bits, the elements of column l / 4 in rows 2 (l % 4) and the next (PTX ISA,
// "ldmatrix"). As a layout, with u = 4 / elementBytes:
//
//   plain    register [u:(0,1), ..]   lane [4:(0,u), 8:(1,0)]
//   .trans   register [2:(1,0), ..]   lane [4:(2,0), 8:(0,1)]
//
// So the digits show which form fits, and the remaining register digits count
// matrices. Two factors of 2 from their even extents, anywhere in the list,
// give the four matrices of an instruction. For operand B of 80 x 64, with
// [2:(1,0), 10:(8,0), 8:(0,8)], the four are two steps of 8 along k by two
// along n, and 5 * 4 instructions read all.
//
// The layout's two dimensions are rows and columns as stored. If the block is
// stored the other way, transpose the layout first (Distributed::transposed).
// Operand B of k x n is .trans when stored as k rows, plain when stored as n
// rows.
#ifndef ACT_LAYOUT_LDMATRIX_H
#define ACT_LAYOUT_LDMATRIX_H
#include "act/Layout/Distributed.h"
#include <array>

namespace act::layout {

struct Ldmatrix {
  /// Fails if ldmatrix does not fit the layout; the error says why.
  static Result<Ldmatrix> get(const Distributed &layout, int64_t elementBytes);

  bool trans = false;
  /// Matrices per instruction: 1, 2 or 4.
  int64_t matrices = 1;
  /// Elements in one 32-bit register.
  int64_t packed = 1;
  /// What bit b of the lane adds to the row and the column that the lane points
  /// at. Bits 0..2 are the row in a matrix, bits 3 and 4 the matrix. Bits
  /// beyond the matrices add nothing.
  std::array<std::array<int64_t, 2>, 5> laneStrides{};
  /// Registers to add for bits 0 and 1 of a matrix's number, to get from the
  /// instruction's first register group to the one that the matrix fills.
  std::array<int64_t, 2> registerStrides{};
  /// For each instruction, the register of the layout that its first matrix
  /// fills (and the next packed - 1).
  std::vector<int64_t> firstRegisters;

  /// Where the lane points in instruction i: {row, column}.
  std::array<int64_t, 2> pointer(const Distributed &layout, size_t i,
                                 int64_t lane, int64_t warp) const;
  /// The first register that matrix m of instruction i fills.
  int64_t registerOf(size_t i, int64_t m) const;
};

} // namespace act::layout
#endif
