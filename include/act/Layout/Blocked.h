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
// Extents are split by greatest common divisors, so nothing is padded: of 80
// columns, 10 chunks, 2 lanes take two and the thread's registers all five
// pairs; the other 16 lanes are rows. Two chunks are a whole sector of 32 bytes
// of global memory, and lanes along a row are what conflict-free shared memory
// wants (Shared.h, which has panels of as many chunks).
//
// Lanes are dealt to the fastest dimension first; warps to the slowest first,
// so that a reduction along rows stays in a warp where it can; registers take
// the rest, fastest dimension first. Lanes and warps that find no element hold
// copies: of 16 x 8 elements, 4 warps hold one and the same.
#ifndef ACT_LAYOUT_BLOCKED_H
#define ACT_LAYOUT_BLOCKED_H
#include "act/Layout/Distributed.h"

namespace act::layout {

/// Dimensions from fastest to slowest: last dimension first.
std::vector<unsigned> rowMajorOrder(unsigned rank);

/// `vector` neighbouring elements along order[0] to a register group; it must
/// divide that dimension's extent. order is a permutation of the dimensions,
/// fastest first; empty is rowMajorOrder.
Result<Distributed> blocked(std::vector<int64_t> shape, int64_t vector,
                            int64_t warps, std::vector<unsigned> order = {});

/// The elements of the widest access, 16 bytes at most, a power of two, that
/// divides the fastest dimension and leaves each thread something to do.
int64_t vectorFor(const std::vector<int64_t> &shape, int64_t elementBytes,
                  int64_t warps, const std::vector<unsigned> &order = {});

} // namespace act::layout
#endif
