// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's CUDA caching allocator, without the memory: which block a request
// gets, what is split, merged, kept, given back, and what the card is asked
// for.
//
//   Allocator allocator({});
//   auto weight = allocator.allocate(3 << 20); // a segment of 20 MiB, of which
//   3 allocator.free(*weight);                   // cached: 20 MiB stay
//   reserved allocator.stats().reserved;                // 20971520
//
//   segment          [ 3 used | 4 used |        13 free        ]   20 MiB
//   12 are asked for [ 3 used | 4 used |        13 used        ]   1 is not
//   split
//                                                                  off
//
// The rules, in the order of a request (torch 2.15,
// c10/cuda/CUDACachingAllocator.cpp; names of its functions in brackets):
//
// 1. The size is rounded (roundSize). Up to kSmallSize it is the small pool's,
//    above the large pool's; a segment belongs to one pool for good. [get_pool]
// 2. The smallest free block that is large enough is taken, of equal ones that
//    at the lowest address. A request below max_split_size takes no oversize
//    block, an oversize request none that is larger by max_non_split_rounding
//    or more. [get_free_block]
// 3. Else a new segment is made of segmentSize(). If the card has no room:
//    with max_split_size, cached oversize segments are given back, the smallest
//    that would do or else from the largest on, and it is tried again
//    [release_available_cached_blocks]; then all segments without a used block
//    are given back and it is tried a last time. [release_cached_blocks]
// 4. What is left of the block is split off, in the small pool if it is at
//    least kMinBlockSize, in the large one if it is more than kSmallSize and
//    the request is below max_split_size. [should_split]
// 5. A freed block is merged with free neighbours in its segment and cached;
//    nothing goes back to the card, except by 3, emptyCache(), or garbage
//    collection: before a new segment is made, if more than the threshold is
//    in use, whole cached segments of the large pool of at least average age.
//    [free_block, try_merge_blocks, garbage_collect_cached_blocks]
//
// With expandable_segments a pool has one segment of virtual addresses, 9/8 of
// the card, that grows by pages (kSmallBuffer, large_segment_size) at its
// lowest free place; a request that no free block holds gets the free block at
// an end of what is mapped, extended. Remainders of at least kMinBlockSize are
// split off in both pools, and whole free pages can be given back from the
// middle.
//
// One stream, one device, no CUDA graphs. The card gives addresses upwards in
// the order in which segments are made; a real one may use a freed one's
// again, which matters only between blocks of equal size.
#ifndef ACT_CUDACACHING_ALLOCATOR_H
#define ACT_CUDACACHING_ALLOCATOR_H
#include "act/CudaCaching/Settings.h"
#include <memory>
#include <vector>

namespace act::cuda_caching {

/// Bytes but for the counts, under the names of torch.cuda.memory_stats().
struct Stats {
  int64_t allocated = 0; // allocated_bytes: of used blocks
  int64_t reserved = 0;  // reserved_bytes: of segments, or of mapped pages
  int64_t requested = 0; // requested_bytes: as asked for
  /// inactive_split_bytes: free, in segments that are partly used, so that they
  /// cannot be given back. Not counted in expandable segments.
  int64_t inactiveSplit = 0;
  int64_t allocatedPeak = 0, reservedPeak = 0;
  int64_t segments = 0; // count; expandable ones are not counted
  int64_t retries = 0;  // num_alloc_retries: count of the last tries of rule 3
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
  /// A card of so many bytes.
  explicit Allocator(const Settings &settings, int64_t deviceBytes = unlimited);
  ~Allocator();
  Allocator(Allocator &&) noexcept;

  using Handle = int64_t;
  /// Nothing if the card is full: what PyTorch reports as out of memory. Bytes
  /// are from 1 to 2^48; of 0 bytes PyTorch allocates nothing at all, and so
  /// must the caller.
  std::optional<Handle> allocate(int64_t bytes);
  /// What allocate() gave, once.
  void free(Handle handle);
  /// torch.cuda.empty_cache(): segments without a used block go back.
  void emptyCache();

  const Stats &stats() const;
  /// Size of the block behind a handle, at least what was asked for.
  int64_t blockBytes(Handle handle) const;
  int64_t address(Handle handle) const;
  /// Everything, by address, for tests and drawings.
  std::vector<SegmentView> segments() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace act::cuda_caching
#endif
