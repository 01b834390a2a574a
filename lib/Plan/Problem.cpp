// SPDX-License-Identifier: Apache-2.0
#include "act/Plan/Problem.h"
#include <algorithm>

namespace act::plan {

Status Problem::check() const {
  constexpr int64_t limit = int64_t(1) << 62;
  int64_t total = 0;
  for (const Buffer &b : buffers) {
    auto bad = [&](const std::string &what) {
      return Error{"buffer '" + b.name + "' " + what, ""};
    };
    if (b.bytes < 0)
      return bad("has a negative size: " + std::to_string(b.bytes));
    if (b.alignment < 1 || b.alignment > limit)
      return bad("has alignment " + std::to_string(b.alignment) +
                 ", expected a number from 1 to 2^62");
    if (b.first >= b.last)
      return bad("is alive in [" + std::to_string(b.first) + ", " +
                 std::to_string(b.last) + "), which is empty");
    // Subtractions only: footprint() may not be called before this holds.
    if (b.bytes > limit - b.alignment || b.footprint() > limit - total)
      return bad("brings the sum of all sizes above 2^62 bytes");
    total += b.footprint();
  }
  return ok();
}

int64_t Problem::lowerBound() const {
  struct Event {
    int64_t time, delta;
  };
  std::vector<Event> events;
  for (const Buffer &b : buffers) {
    events.push_back({b.first, b.footprint()});
    events.push_back({b.last, -b.footprint()});
  }
  // Deaths before births: lifetimes are half-open.
  std::sort(events.begin(), events.end(), [](const Event &x, const Event &y) {
    return x.time != y.time ? x.time < y.time : x.delta < y.delta;
  });
  int64_t live = 0, most = 0;
  for (const Event &e : events)
    most = std::max(most, live += e.delta);
  return most;
}

} // namespace act::plan
