// SPDX-License-Identifier: Apache-2.0
//
// A table of refuted sets, with `ways` entries per bucket. The skylines lie one
// behind the other in a ring; new ones overwrite the oldest.
#include "lib/Plan/Nogoods.h"
#include <algorithm>

namespace act::plan {

static constexpr size_t entryCount = size_t(1) << 17;
static constexpr size_t ringSize = size_t(1) << 21;
static constexpr size_t longest = 1024; // longer skylines rarely recur

Nogoods::Nogoods() = default;

/// The ring's contents stay: no entry points into it any more.
void Nogoods::clear() {
  std::fill(entries.begin(), entries.end(), Entry());
  written = 0;
  victim = 0;
}

const Nogoods::Entry *Nogoods::bucket(uint64_t set) const {
  return &entries[(set >> 20) % (entryCount / ways) * ways];
}

bool Nogoods::refutes(uint64_t set, uint32_t section, const int64_t *skyline,
                      size_t length) const {
  if (entries.empty())
    return false;
  const Entry *e = bucket(set);
  for (size_t k = 0; k < ways; ++k, ++e) {
    // Length 0 marks an empty entry. The last test says that the ring has
    // overwritten the entry's skyline since.
    if (e->set != set || e->section != section || e->length != length ||
        length == 0 || written - e->start > ringSize)
      continue;
    const int64_t *old = &skylines[e->start % ringSize];
    if (std::equal(skyline, skyline + length, old,
                   [](int64_t now, int64_t then) { return now >= then; }))
      return true;
  }
  return false;
}

/// The table takes some 20 MB and is allocated at the first refutation: nearly
/// all problems are solved without one.
void Nogoods::add(uint64_t set, uint32_t section, const int64_t *skyline,
                  size_t length) {
  if (length > longest)
    return;
  if (entries.empty()) {
    entries.resize(entryCount);
    skylines.resize(ringSize);
  }
  if (written % ringSize + length > ringSize) // no skyline wraps around
    written += ringSize - written % ringSize;
  std::copy(skyline, skyline + length, &skylines[written % ringSize]);
  auto *e = const_cast<Entry *>(bucket(set)) + victim++ % ways;
  *e = {set, written, section, uint32_t(length)};
  written += length;
}

} // namespace act::plan
