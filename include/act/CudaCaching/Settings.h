// SPDX-License-Identifier: Apache-2.0
//
// The settings of PyTorch's CUDA caching allocator, with their names in
// PYTORCH_CUDA_ALLOC_CONF, and its rounding.
//
//   auto settings = act::cuda_caching::parseSettings(
//       "max_split_size_mb:128,roundup_power2_divisions:[256:1,512:2,>:4]");
//   settings->maxSplitSize;          // 134217728
//   roundSize(*settings, 1000);      // 1024
//
// PyTorch's sizes are in MiB, in spite of "_mb"; here they are in bytes. The
// rules are those of torch 2.15 (c10/core/AllocatorConfig.h and
// c10/cuda/CUDACachingAllocator.cpp), with PyTorch's name given at each.
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
/// kSmallSize: the largest request of the small pool.
constexpr int64_t smallSize = 1 * MiB;
/// kSmallBuffer: a segment of the small pool; a page of its expandable one.
constexpr int64_t smallBuffer = 2 * MiB;
/// kMinLargeAlloc: a smaller request of the large pool gets a part of a segment
/// of large_segment_size.
constexpr int64_t minLargeAlloc = 10 * MiB;
/// kRoundLarge: from minLargeAlloc on, a segment is the request rounded up to a
/// multiple of this.
constexpr int64_t roundLarge = 2 * MiB;

struct Settings {
  /// max_split_size_mb: a block of at least this size is oversize, is never
  /// split, and serves only requests that are oversize too.
  int64_t maxSplitSize = unlimited;
  /// max_non_split_rounding_mb: an oversize request takes a cached block only
  /// if that is larger by less than this. Defaults to large_segment_size_mb.
  /// Neither this nor max_split_size_mb may be less than that.
  int64_t maxNonSplitRounding = 20 * MiB;
  /// large_segment_size_mb: the segment for requests between smallSize and
  /// minLargeAlloc, and a page of the large pool's expandable segment.
  int64_t largeSegmentSize = 20 * MiB;
  /// roundup_power2_divisions: the number of steps between a power of two and
  /// the next; sizes are rounded up to a step. 0 and 1: no steps. One value for
  /// each power of two from 1 MiB (and below) to 32 GiB (and above).
  std::array<int64_t, 16> roundupPower2Divisions{};
  /// expandable_segments: segments of virtual addresses that grow page by page.
  bool expandableSegments = false;
  /// per_process_memory_fraction: the usable fraction of the GPU's memory; 1 is
  /// no limit.
  std::optional<double> memoryFraction;
  /// garbage_collection_threshold: a fraction of the memory that may be used.
  /// Above it, the segments cached longest are released before a new one is
  /// made. As in PyTorch, it needs a memory fraction. 0: none.
  double garbageCollectionThreshold = 0;
};

/// Parses the syntax of PYTORCH_CUDA_ALLOC_CONF: `key:value,key:value`. Options
/// that do not affect device memory (pinned_…, release_lock_on_cudamalloc, …)
/// are ignored. Unknown options are errors, and so is backend:cudaMallocAsync,
/// which is another allocator.
Result<Settings> parseSettings(const std::string &text);

/// The block size for a request: rounded up to a multiple of minBlockSize, at
/// least one of them; with divisions, to the next step. (get_round_size)
int64_t roundSize(const Settings &settings, int64_t bytes);

/// The size of the segment made for a request of this (rounded) size.
/// (get_allocation_size)
int64_t segmentSize(const Settings &settings, int64_t bytes);

} // namespace act::cuda_caching
#endif
