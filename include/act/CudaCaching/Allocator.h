// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's CUDA caching allocator, without the memory: which block a request
// gets, what is split, merged, cached and released, and what the GPU has to
// allocate.
//
//   Allocator allocator({});
//   auto weight = allocator.allocate(3 << 20); // 3 MiB of a 20 MiB segment
//   allocator.free(*weight);                   // cached: 20 MiB stay reserved
//   allocator.stats().reserved;                // 20971520
//
//   segment          [ 3 used | 4 used |        13 free        ]   20 MiB
//   12 are requested [ 3 used | 4 used |        13 used        ]   1 stays
//                                                               unsplit
//
// The rules, in the order of a request (torch 2.15,
// c10/cuda/CUDACachingAllocator.cpp; names of its functions in brackets):
//
// 1. The size is rounded (roundSize). Up to kSmallSize it belongs to the small
//    pool, above to the large pool. A segment never changes pools. [get_pool]
// 2. The smallest free block that is large enough is taken; among equal ones,
//    that with the lowest address. A request below max_split_size takes no
//    oversize block, an oversize request none that is larger by
//    max_non_split_rounding or more. [get_free_block]
// 3. Else a new segment of segmentSize() is made. If the GPU has no room: with
//    max_split_size, cached oversize segments are released, the smallest that
//    suffices or else from the largest down, and the allocation is retried
//    [release_available_cached_blocks]; then all segments without a used block
//    are released and it is retried a last time. [release_cached_blocks]
// 4. The remainder of the block is split off: in the small pool if it is at
//    least kMinBlockSize, in the large one if it is more than kSmallSize and
//    the request is below max_split_size. [should_split]
// 5. A freed block is merged with free neighbours in its segment and cached.
//    Only rule 3, emptyCache() and garbage collection return memory to the GPU.
//    Garbage collection runs before a new segment is made, if usage exceeds the
//    threshold; it releases whole cached segments of the large pool of at least
//    average age.
//    [free_block, try_merge_blocks, garbage_collect_cached_blocks]
//
// With expandable_segments a pool has one segment of virtual addresses, 9/8 of
// the GPU's memory, that grows by pages (kSmallBuffer, large_segment_size) at
// its lowest free place. If no free block holds a request, the free block at an
// end of a mapped range is extended. Remainders of at least kMinBlockSize are
// split off in both pools, and whole free pages can be released from the
// middle.
//
// One stream, one device, no CUDA graphs. Addresses ascend in the order in
// which segments are made. A real GPU may reuse a freed segment's address,
// which matters only between blocks of equal size.
#ifndef ACT_CUDACACHING_ALLOCATOR_H
#define ACT_CUDACACHING_ALLOCATOR_H
#include "act/CudaCaching/Settings.h"
#include <memory>
#include <vector>

namespace act::cuda_caching {

/// In bytes, except the counts. The names of torch.cuda.memory_stats() are
/// given with each.
struct Stats {
  int64_t allocated = 0; // allocated_bytes: of used blocks
  int64_t reserved = 0;  // reserved_bytes: of segments, or of mapped pages
  int64_t requested = 0; // requested_bytes: before rounding
  /// inactive_split_bytes: free blocks in partly used segments, which cannot be
  /// released. Not counted in expandable segments.
  int64_t inactiveSplit = 0;
  int64_t allocatedPeak = 0, reservedPeak = 0;
  int64_t segments = 0; // count; expandable ones are not counted
  int64_t retries = 0;  // num_alloc_retries: count of rule 3's last retries
  int64_t deviceAllocations = 0, deviceFrees = 0; // counts
};

/// A block as it lies in its segment.
struct BlockView {
  int64_t address = 0, bytes = 0;
  bool used = false, mapped = true;
};
struct SegmentView {
  bool small = false, expandable = false;
  std::vector<BlockView> blocks; // by address
};

class Allocator {
public:
  /// A GPU with `deviceBytes` of memory.
  explicit Allocator(const Settings &settings, int64_t deviceBytes = unlimited);
  ~Allocator();
  Allocator(Allocator &&) noexcept;

  using Handle = int64_t;
  /// Nothing if the GPU is full, which PyTorch reports as out of memory.
  /// `bytes` is from 1 to 2^48. PyTorch allocates nothing for 0 bytes, so the
  /// caller must not call this for them.
  std::optional<Handle> allocate(int64_t bytes);
  /// A handle from allocate(), which is freed once only.
  void free(Handle handle);
  /// torch.cuda.empty_cache(): releases segments without a used block.
  void emptyCache();

  const Stats &stats() const;
  /// Size of the block, at least the bytes requested.
  int64_t blockBytes(Handle handle) const;
  int64_t address(Handle handle) const;
  /// All segments by address, for tests and drawings.
  std::vector<SegmentView> segments() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace act::cuda_caching
#endif
