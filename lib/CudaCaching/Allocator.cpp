// SPDX-License-Identifier: Apache-2.0
//
// Requests and returns, by the rules of Allocator.h. What is given back to the
// GPU is in Release.cpp.
#include "act/CudaCaching/Allocator.h"
#include "lib/CudaCaching/Impl.h"
#include <algorithm>

namespace act::cuda_caching {

Allocator::Impl::Impl(const Settings &settings, int64_t deviceBytes)
    : settings(settings), deviceBytes(deviceBytes) {}

Allocator::Impl::~Impl() {
  for (Block *head : heads)
    while (head) {
      Block *after = head->after;
      delete head;
      head = after;
    }
}

void Allocator::Impl::reserve(int64_t bytes) {
  onDevice += bytes;
  stats.reserved += bytes;
  stats.reservedPeak = std::max(stats.reservedPeak, stats.reserved);
  ++(bytes > 0 ? stats.deviceAllocations : stats.deviceFrees);
}

// A free block next to others in its segment counts as not releasable.
void Allocator::Impl::countFree(const Block &block, int sign) {
  if (!block.expandable && block.isSplit())
    stats.inactiveSplit += sign * block.bytes;
}

Block *Allocator::Impl::takeFree(Pool &pool, int64_t size) {
  if (collectsGarbage())
    ++pool.searches;
  Block key;
  key.bytes = size;
  auto it = pool.free.lower_bound(&key);
  if (it == pool.free.end())
    return nullptr;
  if ((*it)->expandable) {
    // A block before unmapped addresses counts with the size to which it can
    // grow, so a larger block that cannot grow may be the better fit.
    auto canBecome = [](const Block *b) {
      return b->bytes + (b->after && !b->after->mapped ? b->after->bytes : 0);
    };
    for (auto next = std::next(it);
         next != pool.free.end() && canBecome(*next) < canBecome(*it); ++next)
      it = next;
  }
  bool oversize = size >= settings.maxSplitSize;
  if (!oversize && (*it)->bytes >= settings.maxSplitSize)
    return nullptr;
  if (oversize && (*it)->bytes - size >= settings.maxNonSplitRounding)
    return nullptr;
  Block *block = *it;
  pool.free.erase(it);
  countFree(*block, -1);
  return block;
}

Block *Allocator::Impl::makeSegment(Pool &pool, int64_t size) {
  int64_t bytes = segmentSize(settings, size);
  if (bytes > allowed() - onDevice)
    return nullptr;
  if (settings.expandableSegments)
    return expand(pool, size);
  if (!fits(bytes))
    return nullptr;
  auto *block = new Block;
  block->address = nextAddress;
  nextAddress += (bytes + roundLarge - 1) / roundLarge * roundLarge;
  block->bytes = bytes;
  block->pool = &pool;
  heads.insert(block);
  reserve(bytes);
  ++stats.segments;
  return block;
}

bool Allocator::Impl::shouldSplit(const Block &block, int64_t size) const {
  int64_t rest = block.bytes - size;
  if (block.pool->small || settings.expandableSegments)
    return rest >= minBlockSize;
  return size < settings.maxSplitSize && rest > smallSize;
}

// `block` keeps the beginning; the rest becomes a free block after it.
void Allocator::Impl::split(Block *&block, int64_t size) {
  auto *rest = new Block(*block);
  rest->address += size;
  rest->bytes -= size;
  rest->before = block;
  if (rest->after)
    rest->after->before = rest;
  block->bytes = size;
  block->after = rest;
  block->pool->cache(rest);
  countFree(*rest, 1);
}

// The steps and their order are PyTorch's: cached block, new segment, oversize
// segments released, all cached segments released. A retry counts only after
// the last of them.
Block *Allocator::Impl::allocate(int64_t bytes) {
  const int64_t size = roundSize(settings, bytes);
  Pool &pool = poolFor(size);
  Block *block = takeFree(pool, size);
  if (!block) {
    if (collectsGarbage())
      collectGarbage();
    block = makeSegment(pool, size);
    if (!block && releaseOversize(pool, size))
      block = makeSegment(pool, size);
    if (!block) {
      releaseCached();
      ++stats.retries;
      block = makeSegment(pool, size);
    }
    if (!block)
      return nullptr;
  }
  if (shouldSplit(*block, size))
    split(block, size);
  block->used = true;
  block->requested = bytes;
  stats.allocated += block->bytes;
  stats.requested += bytes;
  stats.allocatedPeak = std::max(stats.allocatedPeak, stats.allocated);
  return block;
}

// `other` is a neighbour of `into`, or null.
void Allocator::Impl::merge(Block *into, Block *other) {
  if (!other || other->used || other->mapped != into->mapped)
    return;
  if (into->before == other) {
    if (!other->before)
      heads.erase(other);
    into->address = other->address;
    into->before = other->before;
    if (into->before)
      into->before->after = into;
    else
      heads.insert(into);
  } else {
    into->after = other->after;
    if (into->after)
      into->after->before = into;
  }
  into->bytes += other->bytes;
  if (other->mapped)
    other->pool->free.erase(other);
  else
    other->pool->unmapped.erase(other);
  delete other;
}

// Merges with free neighbours at once, as PyTorch does. Two free blocks are
// then never next to each other.
void Allocator::Impl::free(Block *block) {
  stats.allocated -= block->bytes;
  stats.requested -= block->requested;
  block->used = false;
  for (Block *other : {block->before, block->after})
    if (other && !other->used && other->mapped)
      countFree(*other, -1);
  merge(block, block->before);
  merge(block, block->after);
  block->pool->cache(block);
  countFree(*block, 1);
}

Allocator::Allocator(const Settings &settings, int64_t deviceBytes)
    : impl(std::make_unique<Impl>(settings, deviceBytes)) {}
Allocator::~Allocator() = default;
Allocator::Allocator(Allocator &&) noexcept = default;

std::optional<Allocator::Handle> Allocator::allocate(int64_t bytes) {
  Block *block = impl->allocate(bytes);
  if (!block)
    return std::nullopt;
  if (impl->unusedHandles.empty()) {
    impl->handles.push_back(block);
    return Handle(impl->handles.size()) - 1;
  }
  Handle handle = impl->unusedHandles.back();
  impl->unusedHandles.pop_back();
  impl->handles[handle] = block;
  return handle;
}

void Allocator::free(Handle handle) {
  impl->free(impl->handles[handle]);
  impl->handles[handle] = nullptr;
  impl->unusedHandles.push_back(handle);
}

void Allocator::emptyCache() { impl->releaseCached(); }
const Stats &Allocator::stats() const { return impl->stats; }
int64_t Allocator::blockBytes(Handle handle) const {
  return impl->handles[handle]->bytes;
}
int64_t Allocator::address(Handle handle) const {
  return impl->handles[handle]->address;
}

std::vector<SegmentView> Allocator::segments() const {
  std::vector<SegmentView> all;
  for (const Block *block : impl->heads) {
    SegmentView &segment = all.emplace_back();
    segment.small = block->pool->small;
    segment.expandable = block->expandable;
    for (; block; block = block->after)
      segment.blocks.push_back(
          {block->address, block->bytes, block->used, block->mapped});
  }
  return all;
}

} // namespace act::cuda_caching
