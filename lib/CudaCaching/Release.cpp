// SPDX-License-Identifier: Apache-2.0
// Which memory is returned to the GPU, and when.
#include "lib/CudaCaching/Impl.h"
#include <algorithm>

namespace act::cuda_caching {

int64_t Allocator::Impl::allowed() const {
  if (!settings.memoryFraction || deviceBytes == unlimited)
    return unlimited;
  return int64_t(*settings.memoryFraction * double(deviceBytes));
}

// Releases a cached segment that is one block.
void Allocator::Impl::releaseSegment(Block *block) {
  block->pool->free.erase(block);
  heads.erase(block);
  reserve(-block->bytes);
  --stats.segments;
  delete block;
}

bool Allocator::Impl::releaseOversize(Pool &pool, int64_t size) {
  if (settings.maxSplitSize == unlimited)
    return false;
  Block key;
  key.bytes = std::max(size, settings.maxSplitSize);
  auto it = pool.free.lower_bound(&key);
  // An oversize block is a whole segment, or free pages of an expandable one;
  // releaseCached() handles the latter.
  auto isWhole = [](const Block *b) { return !b->expandable; };
  if (it != pool.free.end() && isWhole(*it)) {
    releaseSegment(*it);
    return true;
  }
  // None is large enough alone: release the largest first, until it suffices.
  int64_t released = 0;
  while (released < key.bytes && !pool.free.empty()) {
    Block *largest = *std::prev(pool.free.end());
    if (largest->bytes < settings.maxSplitSize || !isWhole(largest))
      break;
    released += largest->bytes;
    releaseSegment(largest);
  }
  return released >= key.bytes;
}

void Allocator::Impl::releaseCached() {
  releaseCached(large);
  releaseCached(small);
}

void Allocator::Impl::releaseCached(Pool &pool) {
  std::vector<Block *> expandable;
  for (auto it = pool.free.begin(); it != pool.free.end();) {
    Block *block = *it++;
    if (block->expandable)
      expandable.push_back(block);
    else if (!block->isSplit())
      releaseSegment(block);
  }
  for (Block *block : expandable)
    unmap(block);
}

// Releases whole segments that were cached longest, in rounds: those at least
// as old as the average, then those of the new average, until enough is free.
// An age counts searches of the pool, not time.
void Allocator::Impl::collectGarbage() {
  if (allowed() == unlimited)
    return;
  int64_t threshold =
      int64_t(settings.garbageCollectionThreshold * double(allowed()));
  if (onDevice <= threshold)
    return;
  const int64_t target = onDevice - threshold;
  auto age = [&](const Block *b) { return large.searches - b->cachedAt; };
  auto isWhole = [](const Block *b) { return !b->isSplit() && !b->expandable; };
  int64_t ages = 0, count = 0, reclaimed = 0;
  for (const Block *b : large.free)
    if (isWhole(b))
      ages += age(b), ++count;
  for (bool found = true; found && reclaimed < target && count > 0;) {
    found = false;
    const double average = double(ages) / double(count);
    for (auto it = large.free.begin(); it != large.free.end();) {
      Block *block = *it++;
      if (!isWhole(block) || double(age(block)) < average)
        continue;
      found = true;
      reclaimed += block->bytes;
      ages -= age(block);
      --count;
      releaseSegment(block);
    }
  }
}

} // namespace act::cuda_caching
