// SPDX-License-Identifier: Apache-2.0
// expandable_segments: a range of addresses larger than the GPU's memory,
// mapped page by page.
#include "lib/CudaCaching/Impl.h"
#include <algorithm>

namespace act::cuda_caching {

// The first block, by address, that starts a run of free and unmapped blocks of
// at least the size; in a new segment if there is none. [find_expandable_block]
Block *Allocator::Impl::findExpandable(Pool &pool, int64_t size) {
  auto hasRoom = [size](const Block *b) {
    int64_t bytes = 0;
    for (; bytes < size && b && !b->used; b = b->after)
      bytes += b->bytes;
    return bytes >= size;
  };
  for (Block *block : pool.unmapped) {
    if (block->before && !block->before->used)
      block = block->before;
    if (hasRoom(block))
      return block;
  }
  Expandable &segment = expandables.emplace_back();
  segment.page = pool.small ? smallBuffer : settings.largeSegmentSize;
  // 9/8 of the GPU's memory, so that pages can be unmapped at the front and
  // mapped at the back.
  constexpr int64_t addressSpace = int64_t(1) << 50;
  int64_t bytes = std::max(size, std::min(deviceBytes, addressSpace) / 8 *
                                     9); // never too little
  segment.bytes = (bytes + segment.page - 1) / segment.page * segment.page;
  segment.address = nextAddress;
  nextAddress += (segment.bytes + roundLarge - 1) / roundLarge * roundLarge;
  auto *block = new Block;
  block->address = segment.address;
  block->bytes = segment.bytes;
  block->pool = &pool;
  block->mapped = false;
  block->expandable = &segment;
  heads.insert(block);
  pool.unmapped.insert(block);
  return block;
}

// Maps whole pages from the beginning of an unmapped block. [map_block]
bool Allocator::Impl::map(Block *block, int64_t size) {
  const int64_t page = block->expandable->page;
  const int64_t bytes = (size + page - 1) / page * page;
  if (!fits(bytes))
    return false;
  Pool &pool = *block->pool;
  pool.unmapped.erase(block);
  block->mapped = true;
  if (bytes < block->bytes) {
    auto *rest = new Block(*block);
    rest->address += bytes;
    rest->bytes -= bytes;
    rest->mapped = false;
    rest->before = block;
    if (rest->after)
      rest->after->before = rest;
    block->after = rest;
    block->bytes = bytes;
    pool.unmapped.insert(rest);
  }
  merge(block, block->before);
  merge(block, block->after);
  pool.cache(block);
  reserve(bytes);
  return true;
}

// [try_allocate_expandable_block]
Block *Allocator::Impl::expand(Pool &pool, int64_t size) {
  Block *block = findExpandable(pool, size);
  if (!block->mapped && !map(block, std::min(block->bytes, size)))
    return nullptr;
  while (block->bytes < size) {
    Block *next = block->after; // unmapped; mapped it swallows `block`
    if (!map(next, std::min(size - block->bytes, next->bytes)))
      return nullptr;
    block = next;
  }
  pool.free.erase(block);
  return block;
}

// Unmaps the whole pages in a free block. [unmap_block]
void Allocator::Impl::unmap(Block *block) {
  Pool &pool = *block->pool;
  const Expandable &segment = *block->expandable;
  const int64_t page = segment.page;
  int64_t from = block->address - segment.address;
  int64_t first = (from + page - 1) / page * page;
  int64_t last = (from + block->bytes) / page * page;
  if (first >= last)
    return;
  pool.free.erase(block);
  auto part = [&](int64_t at, int64_t bytes) {
    auto *b = new Block(*block);
    b->address = segment.address + at;
    b->bytes = bytes;
    return b;
  };
  if (first > from) {
    Block *front = part(from, first - from);
    front->after = block;
    if (front->before) {
      front->before->after = front;
    } else {
      heads.erase(block);
      heads.insert(front);
    }
    block->before = front;
    pool.cache(front);
  }
  if (int64_t end = from + block->bytes; end > last) {
    Block *back = part(last, end - last);
    back->before = block;
    if (back->after)
      back->after->before = back;
    block->after = back;
    pool.cache(back);
  }
  block->address = segment.address + first;
  block->bytes = last - first;
  block->mapped = false;
  merge(block, block->before);
  merge(block, block->after);
  pool.unmapped.insert(block);
  reserve(first - last);
  if (block->isSplit())
    return;
  pool.unmapped.erase(block);
  heads.erase(block);
  expandables.remove_if(
      [&](const Expandable &e) { return &e == block->expandable; });
  delete block;
}

} // namespace act::cuda_caching
