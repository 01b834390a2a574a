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
// - An offset is a multiple of the buffer's alignment. The buffer occupies its
//   bytes and no more: where every size has to be padded to the alignment, the
//   caller pads.
// - A buffer may have gaps, in which others may use its place: [first, last) of
//   time, in which only its bytes [low, high) are used (none when low = high).
//   The arena has room for the whole buffer all the same.
// - A buffer may be fixed: it has its offset already, and the others are placed
//   around it.
// - lowerBound() is the largest number of bytes alive at one time. No plan is
//   smaller. The optimum can be larger; the plan states both.
//
// Example: three launches, a -> b -> c, each 256 bytes.
//   a [0,2)  b [1,3)  c [2,4): bound 512; c takes the place of a; offsets 0 256
//   0.
#ifndef ACT_PLAN_PROBLEM_H
#define ACT_PLAN_PROBLEM_H
#include "act/Result.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace act::plan {

struct Gap {
  int64_t first = 0, last = 0; // half-open
  int64_t low = 0, high = 0;   // the bytes of the buffer still used
};

struct Buffer {
  std::string name;
  int64_t bytes = 0;
  int64_t first = 0, last = 0; // half-open
  int64_t alignment = 1;
  std::vector<Gap> gaps = {};
  /// Where the buffer would like to be: tried first, given up where it costs
  /// height. Negative: anywhere.
  int64_t hint = -1;
  /// Where the buffer is, if that is not for the planner to say.
  std::optional<int64_t> offset = std::nullopt;
};

struct Problem {
  std::vector<Buffer> buffers;

  /// Lifetimes not empty, sizes not negative, alignments positive, gaps inside
  /// of lifetime and size and apart from each other, fixed offsets not negative
  /// and aligned, ends of fixed buffers at most 2^61, and the sum of all sizes,
  /// rounded up to their alignments, below 2^62, so that no later sum
  /// overflows.
  Status check() const;
  /// Largest number of bytes in use at one time; `when`, if given, gets the
  /// first such time. Requires check().
  int64_t lowerBound(int64_t *when = nullptr) const;
};

/// offsets[i] belongs to buffers[i].
struct Plan {
  std::vector<int64_t> offsets;
  int64_t arenaBytes = 0;
  int64_t lowerBoundBytes = 0; // problem.lowerBound()
  /// No plan is lower than this: the lower bound, or more where a search showed
  /// it. The plan is the best there is where this is arenaBytes.
  int64_t provenBytes = 0;
  uint64_t nodes = 0; // that the search looked at
  std::string method; // what found it, for the curious
};

} // namespace act::plan
#endif
