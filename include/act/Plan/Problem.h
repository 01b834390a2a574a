// SPDX-License-Identifier: Apache-2.0
//
// Static memory planning: one arena, and an offset for every buffer, decided
// before anything runs.
//
// A buffer is a rectangle. Its width is its lifetime, from liveness analysis,
// and its height is its size. The planner may only move it up and down. Two
// buffers that are alive at the same time must not share a byte:
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
// Backward frees saved values in the reverse order in which forward makes them,
// so they nest and stack without waste. Values that do not nest make planning
// hard: chains of temporaries that each outlive their predecessor by a step,
// and gradients placed below values that are about to die.
//
// Conventions
// - Time counts launches. A lifetime is half-open: [first, last). A buffer that
//   is last read by launch 7 has last = 8, and one born in launch 8 may take
//   its place; one born in launch 7 may not.
// - An offset is a multiple of the buffer's alignment. The buffer occupies
//   exactly its bytes; a caller that needs padded sizes pads them.
// - A buffer may have gaps, in which others may use its place: in the time
//   [first, last) it uses only its bytes [low, high) (none when low = high).
//   The arena still has room for the whole buffer.
// - A buffer may be fixed: its offset is given, and the others are placed
//   around it.
// - lowerBound() is the largest number of bytes alive at one time. No plan is
//   smaller. The optimum can be larger; the plan has both.
//
// Example: three launches, a -> b -> c, each 256 bytes.
//   a [0,2)  b [1,3)  c [2,4): bound 512, offsets 0 256 0; c replaces a.
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
  /// Preferred offset: tried first, and dropped if it makes the arena larger.
  /// Negative: none.
  int64_t hint = -1;
  /// The offset of a fixed buffer.
  std::optional<int64_t> offset = std::nullopt;
};

struct Problem {
  std::vector<Buffer> buffers;

  /// Fails unless lifetimes are not empty, sizes not negative and alignments
  /// positive; gaps are inside lifetime and size and do not overlap; fixed
  /// offsets are not negative and aligned. Fixed buffers must end at most at
  /// 2^61, and all sizes, rounded up to their alignments, must add up to no more
  /// than that, so that no later sum overflows and a plan's offsets can be
  /// fixed ones.
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
  /// No plan is lower than this: the lower bound, or more if a search proved
  /// more. The plan is optimal if this equals arenaBytes.
  int64_t provenBytes = 0;
  uint64_t nodes = 0; // visited by the search
  std::string method; // the method that found it, for information
};

} // namespace act::plan
#endif
