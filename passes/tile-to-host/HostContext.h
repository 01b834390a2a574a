// SPDX-License-Identifier: Apache-2.0
//
// What a kernel on the host is told beside its arguments, and tells: an array
// of 64-bit words behind one pointer.
//
//   word 0..2   the grid
//        3      0, or 1 + the number of the check that failed first
//        4      the program in which it did: its number, x fastest
//        5      a FILE * that tile.print writes to
//        6 + i  bytes of the array behind parameter i (0: it is none)
//
// Once a check has failed, programs that begin do nothing. The one in which it
// did runs to its end: what it reads and writes is checked, too.
#ifndef ACT_PASSES_TILETOHOST_HOSTCONTEXT_H
#define ACT_PASSES_TILETOHOST_HOSTCONTEXT_H

namespace act::tile::hostcontext {
inline constexpr int grid = 0, failure = 3, program = 4, file = 5, bytes = 6;
} // namespace act::tile::hostcontext
#endif
