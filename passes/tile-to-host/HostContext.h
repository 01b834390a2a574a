// SPDX-License-Identifier: Apache-2.0
//
// Data passed between host and kernel in addition to the arguments: an array of
// 64-bit words behind one pointer.
//
//   word 0..2   the grid
//        3      0, or 1 + the number of the check that failed first; negative
//               where it is that the launch has run out of steps
//        4      the program in which it did: its number, x fastest
//        5      a FILE * that tile.print writes to
//        6      how many steps are left; less than 0 is out of them
//        7 + i  bytes of the array behind parameter i (0: it is none)
//
// A step is what a warp does in one instruction, or would if blocks were spread
// evenly: an operation on 32 elements, or 2048 products. Steps are charged when
// a program or a loop iteration begins, as if all branches were taken. When
// they run out, loops end.
//
// After a failed check, no further program does anything. The failing one runs
// to its end; its accesses are still checked.
#ifndef ACT_PASSES_TILETOHOST_HOSTCONTEXT_H
#define ACT_PASSES_TILETOHOST_HOSTCONTEXT_H

namespace act::tile::hostcontext {
inline constexpr int grid = 0, failure = 3, program = 4, file = 5, steps = 6,
                     bytes = 7;
} // namespace act::tile::hostcontext
#endif
