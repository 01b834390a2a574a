// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_LIB_CUDACACHING_IMPL_H
#define ACT_LIB_CUDACACHING_IMPL_H
#include "act/CudaCaching/Allocator.h"
#include "lib/CudaCaching/Pool.h"
#include <list>

namespace act::cuda_caching {

struct Allocator::Impl {
  Impl(const Settings &settings, int64_t deviceBytes);
  ~Impl();

  // Allocator.cpp: requests
  Block *allocate(int64_t bytes);
  void free(Block *block);
  Pool &poolFor(int64_t size) { return size <= smallSize ? small : large; }
  Block *takeFree(Pool &pool, int64_t size);
  Block *makeSegment(Pool &pool, int64_t size);
  bool shouldSplit(const Block &block, int64_t size) const;
  void split(Block *&block, int64_t size);
  void merge(Block *into, Block *other);

  // Release.cpp: returning memory to the GPU
  void releaseSegment(Block *block);
  bool releaseOversize(Pool &pool, int64_t size);
  void releaseCached();
  void releaseCached(Pool &pool);
  void collectGarbage();
  bool collectsGarbage() const {
    return settings.memoryFraction && settings.garbageCollectionThreshold > 0;
  }
  /// The GPU's memory that the memory fraction allows.
  int64_t allowed() const;

  // Expandable.cpp: segments of pages
  Block *expand(Pool &pool, int64_t size);
  Block *findExpandable(Pool &pool, int64_t size);
  bool map(Block *block, int64_t size);
  void unmap(Block *block);

  /// Whether the GPU has room for `bytes` more.
  bool fits(int64_t bytes) const { return bytes <= deviceBytes - onDevice; }
  void reserve(int64_t bytes);
  void countFree(const Block &block, int sign);

  const Settings settings;
  const int64_t deviceBytes;
  int64_t onDevice = 0; // total_allocated_memory
  int64_t nextAddress = int64_t(1) << 40;
  Pool small{true}, large{false};
  std::list<Expandable> expandables;
  Stats stats;
  std::vector<Block *> handles; // null: freed
  std::vector<Handle> unusedHandles;
  std::set<Block *, ByAddress> heads; // first block of each segment
};

} // namespace act::cuda_caching
#endif
