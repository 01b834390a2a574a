// SPDX-License-Identifier: Apache-2.0
//
// Sets of buffers that a search has refuted: they do not fit above a skyline. A
// set that does not fit above one skyline does not fit above a higher one.
//
// The table has a fixed size and drops the oldest entries. A 64-bit hash
// identifies a set. Among the millions of sets of a search, two collide with a
// probability below one in a million, and a wrong answer also needs one of
// their skylines to cover the other.
#ifndef ACT_LIB_PLAN_NOGOODS_H
#define ACT_LIB_PLAN_NOGOODS_H
#include <cstddef>
#include <cstdint>
#include <vector>

namespace act::plan {

class Nogoods {
public:
  Nogoods();
  void clear();
  /// Whether the set was refuted above a skyline nowhere higher than this one.
  bool refutes(uint64_t set, uint32_t section, const int64_t *skyline,
               size_t length) const;
  void add(uint64_t set, uint32_t section, const int64_t *skyline,
           size_t length);

private:
  struct Entry {
    uint64_t set = 0, start = 0; // start: its skyline's, counting all written
    uint32_t section = 0, length = 0;
  };
  static constexpr size_t ways = 4;
  const Entry *bucket(uint64_t set) const;

  std::vector<Entry> entries;
  std::vector<int64_t> skylines; // a ring
  uint64_t written = 0;
  size_t victim = 0;
};

} // namespace act::plan
#endif
