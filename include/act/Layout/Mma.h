// SPDX-License-Identifier: Apache-2.0
//
// Layouts of blocks that mma.sync reads and writes: fragments of the PTX ISA
// ("Matrix Fragments for mma.m16n8k16 ..") repeated over a block.
//
// One instruction multiplies 16 x k by k x 8. With g = lane / 4, t = lane % 4:
//
//   C, D  16x8   f32, i32: c0 c1 (g, 2t + 0..1)   c2 c3 (g + 8, 2t + 0..1)
//   A     16xk   of w elements to a 32-bit register (w = 4, 2, 1 for 8-, 16-,
//                32-bit elements; k = 8 w): a0.. (g, w t + 0..w-1), the next
//                register (g + 8, ..), the next two the same at column + k / 2;
//                an instruction of k = 4 w has the first two
//   B     kx8    b0.. (w t + 0..w-1, g), the next register at row + k / 2
//
// For f64 it is 8 x 4 by 4 x 8 (m8n8k4), and two of these make 16 rows:
//
//   C, D  16x8   as above
//   A     16x4   a0 (g, t)   a1 (g + 8, t)
//   B     4x8    b0 (t, g)
//
// In digits, the accumulator is
//   register [2:(0,1), 2:(8,0)]   lane [4:(0,2), 8:(1,0)]
// and A at 16 bits
//   register [2:(0,1), 2:(8,0), 2:(0,8)]   lane [4:(0,2), 8:(1,0)].
//
// A block of M x N x K is dealt to warpsM x warpsN warps tile by tile, warp =
// m + warpsM * n: tile i of a warp along m is rows 16 (m + warpsM i) on, tile j
// along n columns 8 (n + warpsN j) on. A does not depend on n, nor B on m: the
// warps that share an operand hold copies. Warps take tiles in turn instead of
// one connected part each, for two reasons. The offsets of a warp and of its
// tiles do not carry into each other, so constants address shared memory
// (Shared::deltas). And with warpsM = 4 this is what wgmma.m64 holds.
//
// A block that products take both as it is and transposed is dealt by columns:
// warp = n + warpsN * m, and columns in sixteens. Transposed, its rows are
// dealt to warps as those of A in a product by warpsN x warpsM warps. So only
// warps with the same n exchange elements.
//
// Order of registers, fastest first:
//   accumulator  the fragment, then tiles along n (8 columns each), then along
//                m (16 rows each)
//   A            the fragment, then tiles along k, then along m
//   B            the fragment, then tiles along k, then along n
// so tile (i, j) of an operand is the registers from (i + j * tiles) *
// fragment on, and elements packed into one 32-bit register are neighbours.
//
// With this order an accumulator of M x N is, unchanged, the 16-bit operand A
// of a product over N:
//   mmaAccumulator({M, N}, w, 1) == mmaOperandA({M, N}, w, 1, 16)
// So attention's P stays in registers.
#ifndef ACT_LAYOUT_MMA_H
#define ACT_LAYOUT_MMA_H
#include "act/Layout/Distributed.h"

namespace act::layout {

/// The instruction's k for a block's k: 32, 16, 8, 4 for 8, 16, 32, 64 bits, or
/// half of it (not for 64 bits) if only that divides the block's k; 0 if
/// neither does.
int64_t mmaDepth(int64_t elementBits, int64_t k);

/// shape is {M, N}; M a multiple of 16 warpsM, N of 8 warpsN.
Result<Distributed> mmaAccumulator(std::vector<int64_t> shape, int64_t warpsM,
                                   int64_t warpsN);
/// The same with the columns of a warp side by side, as a wgmma computes them;
/// with warpsN = 1 it is equal.
Result<Distributed> wgmmaAccumulator(std::vector<int64_t> shape, int64_t warpsM,
                                     int64_t warpsN);
/// The same dealt by columns; N a multiple of 16 warpsN.
Result<Distributed> mmaAccumulatorByColumns(std::vector<int64_t> shape,
                                            int64_t warpsM, int64_t warpsN);
/// The operands of a product with this accumulator of one of the above. shape
/// is {M, K} for A and {K, N} for B; K has an mmaDepth.
Result<Distributed> mmaOperandA(std::vector<int64_t> shape,
                                const Distributed &accumulator,
                                int64_t elementBits);
Result<Distributed> mmaOperandB(std::vector<int64_t> shape,
                                const Distributed &accumulator,
                                int64_t elementBits);

} // namespace act::layout
#endif
