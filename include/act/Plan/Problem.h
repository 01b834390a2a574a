// SPDX-License-Identifier: Apache-2.0
//
// Static memory planning: one arena, an offset for every buffer, all decided
// before anything runs.
//
// A buffer is a rectangle. Its width is its lifetime, known from liveness, its
// height its size; the planner may only slide it up and down. Two buffers that
// are alive at the same time must not share a byte:
//
//   offset
//    arena +- - - - - - - - - - - - - - - - - - - - - - -+
//          |          +----+ +---+                       |
//          |    +----+| t2 | |dy |+---+                  |  t: temporaries
//          |+--+| t1 ||    | |   ||dx |                  |  d: gradients
//          ||t0|+----+----------+ +---+---+              |
//          |+--+|   saved 2     | |   dx' |              |
//          |+---+---------------+-+-------+---+          |
//          ||          saved 1            |dx"|          |  saved by forward,
//          |+-----------------------------+---+          |  freed by backward
//          +--------------------------------------------> time (launches)
//           forward ............ loss ........ backward
//
// What forward saves, backward frees in reverse order, so saved values nest
// like brackets and stack without loss; what makes planning hard is what does
// not nest: a chain of temporaries each of which outlives its predecessor by a
// step, and gradients born under values that are about to die.
//
// Conventions
// - Time counts launches. A lifetime is half-open: [first, last). A buffer that
//   is last read by launch 7 has last = 8, and one born in launch 8 may take
//   its place; one born in launch 7 may not.
// - A buffer occupies its bytes rounded up to its alignment, at an offset that
//   is a multiple of it. Everything (bound, overlap, arena) counts those.
// - lowerBound() is the largest number of bytes alive at one time. No plan is
//   smaller. The optimum can be larger, in theory; the plan states both.
//
// Example: three launches, a -> b -> c, each 256 bytes.
//   a [0,2)  b [1,3)  c [2,4): bound 512; c takes the place of a; offsets 0 256
//   0.
#ifndef ACT_PLAN_PROBLEM_H
#define ACT_PLAN_PROBLEM_H
#include "act/Result.h"
#include <cstdint>
#include <string>
#include <vector>

namespace act::plan {

struct Buffer {
  std::string name;
  int64_t bytes = 0;
  int64_t first = 0, last = 0; // half-open
  int64_t alignment = 1;

  /// bytes rounded up to the alignment: what the buffer occupies.
  int64_t footprint() const {
    return (bytes + alignment - 1) / alignment * alignment;
  }
};

struct Problem {
  std::vector<Buffer> buffers;

  /// Lifetimes not empty, sizes not negative, alignments positive, and the sum
  /// of all footprints below 2^62, so that no later sum overflows.
  Status check() const;
  /// Largest sum of footprints alive at one time. Requires check().
  int64_t lowerBound() const;
};

/// offsets[i] belongs to buffers[i].
struct Plan {
  std::vector<int64_t> offsets;
  int64_t arenaBytes = 0;
  int64_t lowerBoundBytes = 0;
  std::string method; // which ordering won, for the curious
};

} // namespace act::plan
#endif
