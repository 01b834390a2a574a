// SPDX-License-Identifier: Apache-2.0
//
// What PyTorch's CUDA caching allocator can be told, under the names that
// PYTORCH_CUDA_ALLOC_CONF has for it, and how it rounds.
//
//   auto settings = act::cuda_caching::parseSettings(
//       "max_split_size_mb:128,roundup_power2_divisions:[256:1,512:2,>:4]");
//   settings->maxSplitSize;          // 134217728
//   roundSize(*settings, 1000);      // 1024
//
// Sizes in these settings are given in MiB by PyTorch, in spite of "_mb"; here
// they are bytes. The rules are those of torch 2.15 (c10/core/AllocatorConfig.h
// and c10/cuda/CUDACachingAllocator.cpp), whose names stand beside each.
#ifndef ACT_CUDACACHING_SETTINGS_H
#define ACT_CUDACACHING_SETTINGS_H
#include "act/Result.h"
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace act::cuda_caching {

constexpr int64_t MiB = int64_t(1) << 20;
constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

/// kMinBlockSize: every size is a multiple of it.
constexpr int64_t minBlockSize = 512;
/// kSmallSize: up to here a request belongs to the small pool.
constexpr int64_t smallSize = 1 * MiB;
/// kSmallBuffer: a segment of the small pool; a page of its expandable one.
constexpr int64_t smallBuffer = 2 * MiB;
/// kMinLargeAlloc: below it a request of the large pool gets a segment of
/// large_segment_size, of which it takes a part.
constexpr int64_t minLargeAlloc = 10 * MiB;
/// kRoundLarge: from there on a segment is as large as the request, rounded up
/// to a multiple of this.
constexpr int64_t roundLarge = 2 * MiB;

struct Settings {
  /// max_split_size_mb: a block of at least this size is oversize, is never
  /// split, and serves only requests that are oversize too.
  int64_t maxSplitSize = unlimited;
  /// max_non_split_rounding_mb: an oversize request takes a cached block only
  /// if that is larger by less than this. As large_segment_size_mb if it is not
  /// said, and never less, as is max_split_size_mb.
  int64_t maxNonSplitRounding = 20 * MiB;
  /// large_segment_size_mb: the segment for requests between smallSize and
  /// minLargeAlloc, and a page of the large pool's expandable segment.
  int64_t largeSegmentSize = 20 * MiB;
  /// roundup_power2_divisions: into so many steps the way from a power of two
  /// to the next is divided, and sizes are rounded up to a step; 0 and 1: not.
  /// One value for each power of two from 1 MiB (and below) to 32 GiB (and
  /// above).
  std::array<int64_t, 16> roundupPower2Divisions{};
  /// expandable_segments: segments of virtual addresses that grow page by page.
  bool expandableSegments = false;
  /// per_process_memory_fraction: of the card that may be used; 1 is none.
  std::optional<double> memoryFraction;
  /// garbage_collection_threshold: of what may be used; above it segments that
  /// were cached longest are given back before a new one is made. Counts only
  /// with a memory fraction, as in PyTorch. 0: none.
  double garbageCollectionThreshold = 0;
};

/// The syntax of PYTORCH_CUDA_ALLOC_CONF: `key:value,key:value`. Options that
/// say nothing about device memory (pinned_…, release_lock_on_cudamalloc, …)
/// are read and left alone; backend:cudaMallocAsync, which is another
/// allocator, and unknown options are errors.
Result<Settings> parseSettings(const std::string &text);

/// The size of the block that a request gets: a multiple of minBlockSize, at
/// least one; with divisions, the next step. (get_round_size)
int64_t roundSize(const Settings &settings, int64_t bytes);

/// The size of the segment made for a request of this (rounded) size.
/// (get_allocation_size)
int64_t segmentSize(const Settings &settings, int64_t bytes);

} // namespace act::cuda_caching
#endif
