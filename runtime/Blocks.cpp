// SPDX-License-Identifier: Apache-2.0
#include "runtime/Blocks.h"
#include <algorithm>
#include <tuple>

using namespace act::runtime;

std::optional<Block> Blocks::take(const void *address, bool registered) {
  auto [first, last] = blocks.equal_range(reinterpret_cast<uintptr_t>(address));
  auto best = last;
  auto rank = [](const Block &b) {
    return std::tuple(b.kind == Block::Ours, b.bytes);
  };
  for (auto it = first; it != last; ++it)
    if ((it->second.kind == Block::Registered) == registered &&
        (best == last || rank(it->second) < rank(best->second)))
      best = it;
  if (best == last)
    return std::nullopt;
  Block block = std::move(best->second);
  blocks.erase(best);
  return block;
}

size_t Blocks::count(const void *address) const {
  auto [first, last] = blocks.equal_range(reinterpret_cast<uintptr_t>(address));
  return size_t(std::count_if(first, last, [](const auto &entry) {
    return entry.second.kind != Block::Registered;
  }));
}

// Nearly always the last block that begins at or before the address; an earlier
// one only where blocks overlap.
bool Blocks::contain(const void *address, uint64_t bytes) const {
  auto a = reinterpret_cast<uintptr_t>(address);
  for (auto it = blocks.upper_bound(a); it != blocks.begin();) {
    --it;
    uint64_t offset = a - it->first, size = it->second.bytes;
    if (offset <= size && bytes <= size - offset)
      return true;
  }
  return false;
}

bool Blocks::overlap(const void *address, uint64_t bytes) const {
  auto a = reinterpret_cast<uintptr_t>(address);
  auto next = blocks.lower_bound(a);
  if (next != blocks.end() && next->first < a + std::max<uint64_t>(bytes, 1))
    return true;
  return std::any_of(blocks.begin(), next, [&](const auto &entry) {
    return entry.first + entry.second.bytes > a;
  });
}
