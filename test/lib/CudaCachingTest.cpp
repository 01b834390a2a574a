// SPDX-License-Identifier: Apache-2.0
// The model of PyTorch's CUDA caching allocator, rule by rule, and against a
// model without data structures. test/python/caching_allocator_test.py compares
// it with PyTorch's own.
#include "act/CudaCaching/Replay.h"
#include "test/lib/NaiveCudaCaching.h"
#include "gtest/gtest.h"
#include <random>

using namespace act;
using namespace act::cuda_caching;

namespace {

Settings settings(const std::string &text) {
  auto s = parseSettings(text);
  EXPECT_TRUE(s) << s.error().str();
  return *s;
}

std::string refusal(const std::string &text) {
  auto s = parseSettings(text);
  EXPECT_FALSE(s) << text;
  return s ? "" : s.error().message;
}

TEST(CudaCaching, RoundsTo512Bytes) {
  Settings s;
  EXPECT_EQ(roundSize(s, 1), 512);
  EXPECT_EQ(roundSize(s, 512), 512);
  EXPECT_EQ(roundSize(s, 513), 1024);
  EXPECT_EQ(roundSize(s, 12 * MiB + 1), 12 * MiB + 512);
}

TEST(CudaCaching, RoundsToDivisionsOfAPowerOfTwo) {
  // The example of PyTorch's documentation: 1200 between 1024 and 2048, in 4
  // steps of 256, is 1280; but below 512 bytes times the divisions it is
  // rounded to 512 all the same.
  Settings s = settings("roundup_power2_divisions:4");
  EXPECT_EQ(roundSize(s, 1200), 1536);
  EXPECT_EQ(roundSize(s, 1200 * 1024), 1280 * 1024);
  EXPECT_EQ(roundSize(s, 2048 * 1024), 2048 * 1024);
  EXPECT_EQ(roundSize(s, 2048), 2048);
  EXPECT_EQ(roundSize(s, 2049), 2560);
  // By interval of MiB: below 256 none, from 256 on 1, from 512 on 2, then 8.
  s = settings("roundup_power2_divisions:[256:1,512:2,>:8]");
  EXPECT_EQ(roundSize(s, 200 * MiB + 1), 200 * MiB + 512);
  EXPECT_EQ(roundSize(s, 300 * MiB + 1), 300 * MiB + 512);
  EXPECT_EQ(roundSize(s, 513 * MiB), 768 * MiB);
  EXPECT_EQ(roundSize(s, 1025 * MiB), 1152 * MiB);
  // Below the first as at the first.
  s = settings("roundup_power2_divisions:[64:8,128:2]");
  EXPECT_EQ(roundSize(s, 33 * MiB), 36 * MiB);
  EXPECT_EQ(roundSize(s, 256 * MiB + 1), 256 * MiB + 512);
}

TEST(CudaCaching, MakesSegmentsBySize) {
  Settings s;
  EXPECT_EQ(segmentSize(s, 512), 2 * MiB);
  EXPECT_EQ(segmentSize(s, 1 * MiB), 2 * MiB);
  EXPECT_EQ(segmentSize(s, 1 * MiB + 512), 20 * MiB);
  EXPECT_EQ(segmentSize(s, 10 * MiB - 512), 20 * MiB);
  EXPECT_EQ(segmentSize(s, 10 * MiB), 10 * MiB);
  EXPECT_EQ(segmentSize(s, 11 * MiB), 12 * MiB);
  s = settings("large_segment_size_mb:12");
  EXPECT_EQ(segmentSize(s, 2 * MiB), 12 * MiB);
}

TEST(CudaCaching, ReadsWhatPyTorchReads) {
  Settings s = settings(
      "max_split_size_mb:128, expandable_segments:True,"
      "garbage_collection_threshold:0.8,per_process_memory_fraction:0.5,"
      "max_non_split_rounding_mb:40,backend:native,"
      "pinned_use_background_threads:True,release_lock_on_cudamalloc:True");
  EXPECT_EQ(s.maxSplitSize, 128 * MiB);
  EXPECT_TRUE(s.expandableSegments);
  EXPECT_EQ(s.garbageCollectionThreshold, 0.8);
  EXPECT_EQ(s.memoryFraction, 0.5);
  EXPECT_EQ(s.maxNonSplitRounding, 40 * MiB);
  EXPECT_TRUE(parseSettings(""));
  EXPECT_EQ(settings("").maxNonSplitRounding, 20 * MiB);
  EXPECT_EQ(settings("large_segment_size_mb:12,max_split_size_mb:12")
                .maxNonSplitRounding,
            12 * MiB);
  EXPECT_FALSE(settings("per_process_memory_fraction:1.0").memoryFraction);
}

TEST(CudaCaching, RefusesOtherSettings) {
  EXPECT_NE(refusal("max_split_size_mb:19").find("at least large"),
            std::string::npos);
  EXPECT_NE(refusal("max_split_size_mb:30,large_segment_size_mb:40")
                .find("at least large_segment_size_mb, 40"),
            std::string::npos);
  EXPECT_NE(refusal("max_split_size_mb").find("expected ':'"),
            std::string::npos);
  EXPECT_NE(refusal("max_split_size_mb:128 x").find("'128x'"),
            std::string::npos);
  EXPECT_NE(refusal("max_split:128").find("unknown allocator option"),
            std::string::npos);
  EXPECT_NE(refusal("expandable_segments:true").find("True or False"),
            std::string::npos);
  EXPECT_NE(refusal("backend:cudaMallocAsync").find("native"),
            std::string::npos);
  for (const char *bad :
       {"roundup_power2_divisions:3", "roundup_power2_divisions:[256:2",
        "roundup_power2_divisions:[300:2]", "roundup_power2_divisions:[256]",
        "garbage_collection_threshold:0", "garbage_collection_threshold:nan",
        "per_process_memory_fraction:1.5", "garbage_collection_threshold:1",
        "large_segment_size_mb:10", "max_non_split_rounding_mb:19", ":", ",",
        "a:b:c", "max_split_size_mb:99999999999999999999",
        "expandable_segments:True;backend:native"})
    refusal(bad);
}

TEST(CudaCaching, SharesASmallSegment) {
  Allocator a({});
  auto x = *a.allocate(1), y = *a.allocate(600);
  EXPECT_EQ(a.stats().allocated, 512 + 1024);
  EXPECT_EQ(a.stats().requested, 601);
  EXPECT_EQ(a.stats().reserved, 2 * MiB);
  EXPECT_EQ(a.address(y), a.address(x) + 512);
  // 1 MiB is the small pool's, one byte more the large one's.
  a.allocate(1 * MiB);
  EXPECT_EQ(a.stats().reserved, 2 * MiB);
  a.allocate(1 * MiB + 1);
  EXPECT_EQ(a.stats().reserved, 22 * MiB);
}

// What is left is split off only if it is more than 1 MiB.
TEST(CudaCaching, LeavesTheRestOfALargeBlockOnIt) {
  Allocator a({});
  a.allocate(3 * MiB);
  a.allocate(4 * MiB);
  auto qkv = *a.allocate(12 * MiB);
  EXPECT_EQ(a.blockBytes(qkv), 13 * MiB);
  EXPECT_EQ(a.stats().reserved, 20 * MiB);
  Allocator b({});
  b.allocate(3 * MiB);
  b.allocate(4 * MiB);
  EXPECT_EQ(b.blockBytes(*b.allocate(12 * MiB - 512)), 12 * MiB - 512);
}

TEST(CudaCaching, TakesTheSmallestThatFits) {
  Allocator a({});
  auto x = *a.allocate(10 * MiB), y = *a.allocate(12 * MiB),
       z = *a.allocate(14 * MiB);
  int64_t middle = a.address(y), first = a.address(x);
  a.free(x), a.free(y), a.free(z);
  auto w = *a.allocate(11 * MiB);
  EXPECT_EQ(a.address(w), middle);
  EXPECT_EQ(a.blockBytes(w), 12 * MiB); // 1 MiB is not split off
  EXPECT_EQ(a.address(*a.allocate(2 * MiB)), first);
  EXPECT_EQ(a.stats().reserved, 36 * MiB);
}

TEST(CudaCaching, MergesFreeNeighbours) {
  Allocator a({});
  std::vector<Allocator::Handle> blocks;
  for (int i = 0; i < 5; ++i)
    blocks.push_back(*a.allocate(4 * MiB));
  EXPECT_EQ(a.stats().reserved, 20 * MiB);
  a.free(blocks[1]);
  a.free(blocks[3]);
  EXPECT_EQ(a.stats().inactiveSplit, 8 * MiB);
  a.free(blocks[2]); // with both
  EXPECT_EQ(a.segments()[0].blocks.size(), 3u);
  EXPECT_EQ(a.blockBytes(*a.allocate(12 * MiB)), 12 * MiB);
  EXPECT_EQ(a.stats().reserved, 20 * MiB);
  EXPECT_EQ(a.stats().inactiveSplit, 0);
}

TEST(CudaCaching, KeepsOversizeBlocksWhole) {
  Allocator a(settings("max_split_size_mb:100"));
  auto big = *a.allocate(200 * MiB);
  a.free(big);
  // Too small for it, though it would do without the limit.
  a.allocate(50 * MiB);
  EXPECT_EQ(a.stats().reserved, 250 * MiB);
  // Oversize, and less than 20 MiB smaller: takes all of it.
  auto near = *a.allocate(181 * MiB);
  EXPECT_EQ(a.blockBytes(near), 200 * MiB);
  a.free(near);
  a.allocate(180 * MiB);
  EXPECT_EQ(a.stats().reserved, 430 * MiB);
}

TEST(CudaCaching, GivesBackWhenTheCardIsFull) {
  Allocator a({}, 100 * MiB);
  auto x = *a.allocate(60 * MiB);
  auto y = *a.allocate(30 * MiB);
  a.free(x);
  EXPECT_TRUE(a.allocate(64 * MiB)); // the 60 go back first
  EXPECT_EQ(a.stats().reserved, 94 * MiB);
  EXPECT_EQ(a.stats().retries, 1);
  EXPECT_EQ(a.stats().reservedPeak, 94 * MiB);
  a.free(y);
  // 64 are used, and 30 go back in vain.
  EXPECT_FALSE(a.allocate(38 * MiB));
  EXPECT_EQ(a.stats().reserved, 64 * MiB);
}

TEST(CudaCaching, CannotGiveBackWhatIsPartlyUsed) {
  Allocator a({}, 40 * MiB);
  auto small = *a.allocate(2 * MiB);
  auto rest = *a.allocate(9 * MiB);
  a.allocate(9 * MiB);
  a.free(rest);
  EXPECT_FALSE(a.allocate(22 * MiB));
  EXPECT_EQ(a.stats().reserved, 20 * MiB);
  EXPECT_EQ(a.stats().inactiveSplit, 9 * MiB);
  a.free(small);
}

// With max_split_size only as many oversize blocks go back as are needed.
TEST(CudaCaching, GivesBackOversizeBlocksFirst) {
  Allocator a(settings("max_split_size_mb:20"), 200 * MiB);
  auto x = *a.allocate(30 * MiB), y = *a.allocate(50 * MiB),
       z = *a.allocate(80 * MiB), cached = *a.allocate(10 * MiB);
  a.free(x), a.free(y), a.free(z), a.free(cached);
  a.allocate(54 * MiB); // the 80 are too large to be taken, but go back
  EXPECT_EQ(a.stats().reserved, 30 * MiB + 50 * MiB + 10 * MiB + 54 * MiB);
  EXPECT_EQ(a.stats().retries, 0);
}

TEST(CudaCaching, CollectsGarbage) {
  Allocator a(settings("garbage_collection_threshold:0.5,"
                       "per_process_memory_fraction:0.8"),
              200 * MiB); // 160 may be used, above 80 garbage is collected
  auto x = *a.allocate(50 * MiB);
  a.free(x);
  auto y = *a.allocate(60 * MiB);
  EXPECT_EQ(a.stats().reserved, 110 * MiB);
  a.free(y);
  a.allocate(70 * MiB); // first the older of the two
  EXPECT_EQ(a.stats().reserved, 130 * MiB);
  EXPECT_FALSE(a.allocate(100 * MiB)); // more than the fraction
}

TEST(CudaCaching, GrowsExpandableSegments) {
  Allocator a(settings("expandable_segments:True"), 200 * MiB);
  auto x = *a.allocate(5 * MiB);
  EXPECT_EQ(a.stats().reserved, 20 * MiB);
  auto y = *a.allocate(18 * MiB); // 15 are there, one page more
  EXPECT_EQ(a.stats().reserved, 40 * MiB);
  EXPECT_EQ(a.address(y), a.address(x) + 5 * MiB);
  EXPECT_EQ(a.blockBytes(y), 18 * MiB); // what is left is split off
  a.allocate(1);
  EXPECT_EQ(a.stats().reserved, 42 * MiB); // the small pool's page
  a.free(x);
  EXPECT_EQ(a.address(*a.allocate(4 * MiB)) + 5 * MiB, a.address(y));
}

// Whole pages go back from the middle, and are mapped again there first.
TEST(CudaCaching, UnmapsPages) {
  Allocator a(settings("expandable_segments:True"), 100 * MiB);
  auto x = *a.allocate(50 * MiB), y = *a.allocate(10 * MiB);
  EXPECT_EQ(a.stats().reserved, 60 * MiB);
  a.free(x);
  a.emptyCache(); // two pages of it; 10 MiB share a page with y
  EXPECT_EQ(a.stats().reserved, 20 * MiB);
  EXPECT_EQ(a.segments()[0].blocks.size(), 4u);
  auto z = *a.allocate(45 * MiB);
  EXPECT_EQ(a.stats().reserved, 60 * MiB);
  EXPECT_EQ(a.address(z) + 50 * MiB, a.address(y));
  EXPECT_FALSE(a.allocate(50 * MiB)); // there are addresses, but two pages
  a.free(y), a.free(z);
  a.emptyCache();
  EXPECT_EQ(a.stats().reserved, 0);
  EXPECT_TRUE(a.segments().empty());
}

// --- Against the naive model -----------------------------------------------

struct Case {
  const char *settings;
  int64_t device;
};

class Random : public testing::TestWithParam<Case> {};

TEST_P(Random, AgreesWithTheNaiveModel) {
  Settings s = settings(GetParam().settings);
  int64_t retries = 0, failures = 0, requests = 0;
  for (unsigned seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    auto below = [&](int64_t n) { return int64_t(random() % uint64_t(n)); };
    Allocator real(s, GetParam().device);
    naive::Model model(s, GetParam().device);
    std::vector<std::pair<Allocator::Handle, naive::Model::Place>> live;
    for (int step = 0; step < 250; ++step) {
      if (step % 97 == 96) {
        real.emptyCache();
        model.releaseAll();
      } else if (below(100) < 45 && !live.empty()) {
        size_t i = below(live.size());
        real.free(live[i].first);
        model.free(live[i].second);
        live.erase(live.begin() + i);
      } else {
        int64_t most = int64_t(1) << (8 + below(19)); // up to 64 MiB
        int64_t bytes = 1 + below(most);
        if (below(3) == 0)
          bytes = (1 + below(40)) * MiB / 2; // where limits lie
        auto got = real.allocate(bytes);
        auto expected = model.allocate(bytes);
        ++requests;
        failures += !got;
        ASSERT_EQ(bool(got), bool(expected)) << seed << " " << step;
        if (got) {
          ASSERT_EQ(real.address(*got),
                    model.segments[expected->segment].address + expected->from)
              << seed << " " << step;
          live.push_back({*got, *expected});
        }
      }
      ASSERT_EQ(real.stats().allocated, model.allocated())
          << seed << " " << step;
      ASSERT_EQ(real.stats().reserved, model.reserved()) << seed << " " << step;
      ASSERT_EQ(real.stats().inactiveSplit, model.inactiveSplit())
          << seed << " " << step;
      ASSERT_LE(real.stats().reserved, GetParam().device);
    }
    retries += real.stats().retries;
  }
  // The case is about what it is meant to be about.
  EXPECT_EQ(retries > 0, GetParam().device < 1000 * MiB);
  EXPECT_EQ(failures > 0, GetParam().device < 1000 * MiB);
  EXPECT_GT(requests, 3000);
}

INSTANTIATE_TEST_SUITE_P(
    CudaCaching, Random,
    testing::Values(
        Case{"", int64_t(1) << 40}, Case{"", 300 * MiB},
        Case{"max_split_size_mb:20", int64_t(1) << 40},
        Case{"max_split_size_mb:32,max_non_split_rounding_mb:24", 300 * MiB},
        Case{"roundup_power2_divisions:[1:8,16:4,>:2]", 300 * MiB},
        Case{"large_segment_size_mb:12", 250 * MiB},
        Case{"expandable_segments:True", 3000 * MiB},
        Case{"expandable_segments:True", 300 * MiB},
        Case{"expandable_segments:True,large_segment_size_mb:12", 200 * MiB},
        Case{"expandable_segments:True,roundup_power2_divisions:4",
             250 * MiB}));

// --- Replay ----------------------------------------------------------------

TEST(CudaCachingReplay, BorrowsAndKeepsWorkspaces) {
  Trace trace;
  size_t x = trace.add(4 * MiB), none = trace.add(0);
  trace.events = {Event::allocate(x), Event::allocate(none), Event::product(0),
                  Event::biased(0),   Event::product(1),     Event::free(x),
                  Event::free(none),  Event::mark(7)};
  Options options;
  options.cublasWorkspace = 3 * MiB;
  options.cublasLtWorkspace = 1 * MiB;
  auto allocated = [&] {
    std::vector<int64_t> all;
    for (const Point &p : replay(trace, options).points)
      all.push_back(p.allocated / MiB);
    return all;
  };
  using Line = std::vector<int64_t>;
  EXPECT_EQ(allocated(), (Line{4, 4, 7, 5, 7, 0, 0, 0}));
  options.keepsWorkspace = true;
  EXPECT_EQ(allocated(), (Line{4, 4, 7, 8, 10, 6, 6, 6}));
  options.cublasLtWorkspace = 0; // cuBLAS's
  EXPECT_EQ(allocated(), (Line{4, 4, 7, 7, 10, 6, 6, 6}));
  options.cublasWorkspace = 0;
  EXPECT_EQ(allocated(), (Line{4, 4, 4, 4, 4, 0, 0, 0}));
}

TEST(CudaCachingReplay, SaysWhereTheCardIsFull) {
  Trace trace;
  for (int i = 0; i < 4; ++i)
    trace.events.push_back(Event::allocate(trace.add(30 * MiB)));
  Options options;
  options.deviceBytes = 100 * MiB;
  Replay r = replay(trace, options);
  ASSERT_TRUE(r.outOfMemory);
  EXPECT_EQ(r.outOfMemory->event, 3u);
  EXPECT_EQ(r.outOfMemory->requested, 30 * MiB);
  EXPECT_EQ(r.outOfMemory->allocated, 90 * MiB);
  EXPECT_EQ(r.points.size(), 3u);
  EXPECT_EQ(r.reservedPeakAt, 2u);
  options.deviceBytes = 120 * MiB;
  EXPECT_FALSE(replay(trace, options).outOfMemory);
}

} // namespace
