// SPDX-License-Identifier: Apache-2.0
//
// Layouts for reading and writing global memory: neighbouring lanes hold
// neighbouring pieces of a row.
//
//   128 x 64 of bf16, 4 warps, pieces ("chunks") of 16 bytes = 8 elements:
//   register [8:(0,1), 8:(16,0)]   lane [8:(0,8), 4:(1,0)]   warp [4:(4,0)]
//
//   8 lanes take the 8 chunks of a row, 4 rows make a warp, 4 warps are 16
//   rows; each of 8 registers of 16 bytes is 16 rows below the one before it.
//
// Extents are split by greatest common divisors, so nothing is padded. Of 80
// columns, which are 10 chunks, 2 lanes take two chunks, a thread's registers
// all five pairs, and the other 16 lanes are rows. Two chunks are a whole
// sector of 32 bytes of global memory. The lanes along a row match the chunks
// of a panel in Shared.h, so shared memory is free of conflicts.
//
// Lanes go to the fastest dimension first. Warps go to the slowest first, so
// that a reduction along rows stays in a warp where possible. Registers take
// the rest, fastest dimension first. Lanes and warps without elements of their
// own hold copies: of 16 x 8 elements, 4 warps all hold the same.
#ifndef ACT_LAYOUT_BLOCKED_H
#define ACT_LAYOUT_BLOCKED_H
#include "act/Layout/Distributed.h"

namespace act::layout {

/// Dimensions from fastest to slowest: last dimension first.
std::vector<unsigned> rowMajorOrder(unsigned rank);

/// A register group holds `vector` neighbouring elements along order[0]. Fails
/// unless `vector` divides that dimension's extent. `order` is a permutation of
/// the dimensions, fastest first; empty means rowMajorOrder.
Result<Distributed> blocked(std::vector<int64_t> shape, int64_t vector,
                            int64_t warps, std::vector<unsigned> order = {});

/// Elements of the widest access that divides the fastest dimension and leaves
/// each thread something to do: a power of two, at most 16 bytes.
int64_t vectorFor(const std::vector<int64_t> &shape, int64_t elementBytes,
                  int64_t warps, const std::vector<unsigned> &order = {});

} // namespace act::layout
#endif
