// SPDX-License-Identifier: Apache-2.0
//
// What a kernel on the host is told beside its arguments, and tells: an array
// of 64-bit words behind one pointer.
//
//   word 0..2   the grid
//        3      0, or 1 + the number of the check that failed first; negative
//               where it is that the launch has run out of steps
//        4      the program in which it did: its number, x fastest
//        5      a FILE * that tile.print writes to
//        6      how many steps are left; less than 0 is out of them
//        7 + i  bytes of the array behind parameter i (0: it is none)
//
// A step is what a warp does in an instruction, or would if blocks were spread
// evenly: an operation on 32 elements, or 2048 products. They are counted for a
// program and for each iteration of a loop when it begins; ops in branches as
// if all were taken. Out of them, loops end.
//
// Once a check has failed, programs that begin do nothing. The one in which it
// did runs to its end: what it reads and writes is checked, too.
#ifndef ACT_PASSES_TILETOHOST_HOSTCONTEXT_H
#define ACT_PASSES_TILETOHOST_HOSTCONTEXT_H

namespace act::tile::hostcontext {
inline constexpr int grid = 0, failure = 3, program = 4, file = 5, steps = 6,
                     bytes = 7;
} // namespace act::tile::hostcontext
#endif
