// SPDX-License-Identifier: Apache-2.0
//
// The rules that a problem has to meet, and its lower bound. Placing buffers is
// the solver's business.
#include "act/Plan/Problem.h"
#include <algorithm>

namespace act::plan {

static std::string interval(int64_t low, int64_t high) {
  return "[" + std::to_string(low) + ", " + std::to_string(high) + ")";
}

/// Gaps, in any order, must not be empty, must be inside the lifetime and must
/// not overlap; windows must be inside the buffer.
static std::string wrongGap(const Buffer &b) {
  std::vector<Gap> gaps = b.gaps;
  std::sort(gaps.begin(), gaps.end(),
            [](const Gap &x, const Gap &y) { return x.first < y.first; });
  for (size_t i = 0; i < gaps.size(); ++i) {
    const Gap &g = gaps[i];
    if (g.first >= g.last)
      return "has a gap " + interval(g.first, g.last) + ", which is empty";
    if (g.first < b.first || g.last > b.last)
      return "has a gap " + interval(g.first, g.last) +
             " outside of its lifetime " + interval(b.first, b.last);
    if (i > 0 && g.first < gaps[i - 1].last)
      return "has gaps that overlap: " +
             interval(gaps[i - 1].first, gaps[i - 1].last) + " and " +
             interval(g.first, g.last);
    if (g.low < 0 || g.low > g.high || g.high > b.bytes)
      return "has a gap with bytes " + interval(g.low, g.high) +
             " in use, expected a part of its " + std::to_string(b.bytes) +
             " bytes";
  }
  return "";
}

/// Of the end of a fixed buffer and of all sizes together: what is planned can
/// be read back as fixed.
static constexpr int64_t limit = int64_t(1) << 61;

/// A fixed offset that no plan can have.
static std::string wrongOffset(const Buffer &b) {
  if (!b.offset)
    return "";
  const std::string at = "is fixed at offset " + std::to_string(*b.offset);
  if (*b.offset < 0)
    return at + ", expected at least 0";
  if (*b.offset % b.alignment != 0)
    return at + ", which is not a multiple of its alignment " +
           std::to_string(b.alignment);
  if (b.bytes > limit || *b.offset > limit - b.bytes)
    return at + " with " + std::to_string(b.bytes) +
           " bytes, expected an end of at most 2^61";
  return "";
}

/// All sums and products below stay under 2^63 only because of these limits, so
/// every comparison here is written so that it cannot overflow itself.
Status Problem::check() const {
  int64_t total = 0;
  for (const Buffer &b : buffers) {
    auto bad = [&](const std::string &what) {
      return Error{"buffer '" + b.name + "' " + what, ""};
    };
    if (b.bytes < 0)
      return bad("has a negative size: " + std::to_string(b.bytes));
    if (b.alignment < 1 || b.alignment > limit)
      return bad("has alignment " + std::to_string(b.alignment) +
                 ", expected a number from 1 to 2^61");
    if (b.first >= b.last)
      return bad("is alive in " + interval(b.first, b.last) +
                 ", which is empty");
    if (std::string wrong = wrongGap(b); !wrong.empty())
      return bad(wrong);
    if (std::string wrong = wrongOffset(b); !wrong.empty())
      return bad(wrong);
    // Compares by subtraction: rounding up could overflow before this holds.
    if (b.bytes > limit - (b.alignment - 1))
      return bad("brings the sum of all sizes above 2^61 bytes");
    int64_t rounded = (b.bytes + b.alignment - 1) / b.alignment * b.alignment;
    if (rounded > limit - total)
      return bad("brings the sum of all sizes above 2^61 bytes");
    total += rounded;
  }
  return ok();
}

int64_t Problem::lowerBound(int64_t *when) const {
  struct Event {
    int64_t time, delta;
  };
  std::vector<Event> events;
  for (const Buffer &b : buffers) {
    events.push_back({b.first, b.bytes});
    events.push_back({b.last, -b.bytes});
    for (const Gap &g : b.gaps) {
      int64_t unused = b.bytes - (g.high - g.low);
      events.push_back({g.first, -unused});
      events.push_back({g.last, unused});
    }
  }
  // Deaths before births, because lifetimes are half-open. A gap that starts
  // with its buffer makes the sum negative for a moment, which is harmless:
  // only the sum after the last event of a time counts.
  std::sort(events.begin(), events.end(), [](const Event &x, const Event &y) {
    return x.time != y.time ? x.time < y.time : x.delta < y.delta;
  });
  int64_t live = 0, most = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    live += events[i].delta;
    bool settled =
        i + 1 == events.size() || events[i + 1].time != events[i].time;
    if (settled && live > most) {
      most = live;
      if (when)
        *when = events[i].time;
    }
  }
  return most;
}

} // namespace act::plan
