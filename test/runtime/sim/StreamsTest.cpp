// SPDX-License-Identifier: Apache-2.0
//
// Kernels of different streams that wait for each other, on a simulated device.
#include "runtime/sim/Simulator.h"
#include "runtime/sim/device/SimExecutor.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace act;
using namespace act::runtime;

namespace {

// w: words of global memory, 16 bytes apart: 0 a's data, 1 a's flag, 2 b's
// data, 3 b's flag, 4 and on what was read.
const char *const text = R"(.version 7.0
.target sm_80
.address_size 64

// Each thread 0 of a block: data = block + value; flag += 1; waits until the
// other's flag is `want`; out[block] = the other's data.
.visible .entry meet(.param .u64 w, .param .u32 mine, .param .u32 theirs,
                     .param .u32 value, .param .u32 want, .param .u32 out) {
  .reg .b64 %w, %m, %t, %o; .reg .b32 %r<9>; .reg .pred %p;
  ld.param.u64 %w, [w];
  ld.param.u32 %r0, [mine]; mul.wide.u32 %m, %r0, 16; add.u64 %m, %m, %w;
  ld.param.u32 %r0, [theirs]; mul.wide.u32 %t, %r0, 16; add.u64 %t, %t, %w;
  ld.param.u32 %r0, [out]; mov.u32 %r1, %ctaid.x; add.u32 %r0, %r0, %r1;
  mul.wide.u32 %o, %r0, 16; add.u64 %o, %o, %w;
  ld.param.u32 %r2, [value]; ld.param.u32 %r3, [want];
  setp.ne.u32 %p, %r1, 0; @%p bra TELL;
  st.global.u32 [%m], %r2;
TELL:
  atom.add.release.gpu.global.u32 %r4, [%m+16], 1;
WAIT:
  ld.acquire.gpu.global.u32 %r5, [%t+16];
  setp.lt.u32 %p, %r5, %r3; @%p bra WAIT;
  ld.global.u32 %r6, [%t];
  st.global.u32 [%o], %r6;
  ret;
}

// The same with a flag that orders nothing.
.visible .entry careless(.param .u64 w, .param .u32 out) {
  .reg .b64 %w, %o; .reg .b32 %r<4>; .reg .pred %p;
  ld.param.u64 %w, [w];
  ld.param.u32 %r0, [out]; mul.wide.u32 %o, %r0, 16; add.u64 %o, %o, %w;
WAIT:
  ld.relaxed.gpu.global.u32 %r1, [%w+16];
  setp.eq.u32 %p, %r1, 0; @%p bra WAIT;
  ld.global.u32 %r2, [%w];
  st.global.u32 [%o], %r2;
  ret;
}
.visible .entry tell(.param .u64 w, .param .u32 value) {
  .reg .b64 %w; .reg .b32 %r<2>;
  ld.param.u64 %w, [w]; ld.param.u32 %r0, [value];
  st.global.u32 [%w], %r0;
  st.release.gpu.global.u32 [%w+16], 1;
  ret;
}

// Data that it never computed.
.visible .entry leaves(.param .u64 w) {
  .reg .b64 %w; .reg .b32 %never;
  ld.param.u64 %w, [w];
  st.global.u32 [%w], %never;
  st.release.gpu.global.u32 [%w+16], 1;
  ret;
}

// Counts while it waits, with a look that is none to the scheduler.
.visible .entry counts(.param .u64 w) {
  .reg .b64 %w; .reg .b32 %r<4>; .reg .pred %p;
  ld.param.u64 %w, [w];
WAIT:
  atom.add.global.u32 %r0, [%w+64], 1;
  ld.acquire.gpu.global.u32 %r1, [%w+16];
  setp.eq.u32 %p, %r1, 0; @%p bra WAIT;
  ret;
}
)";

struct Device {
  std::shared_ptr<Executor> executor;
  std::unique_ptr<Module> module;
  uint32_t *words = nullptr;
  uint64_t seed = 0;
  static constexpr unsigned apart = 4; // 16 bytes

  explicit Device(uint64_t seed = 0, const char *target = "sm_80") {
    DeviceOptions options;
    options.seed = seed;
    options.threads = seed % 2 ? 2 : 1;
    options.maximumInstructions = 10000000;
    executor = *SimExecutor::open(target, options);
    module = std::move(*executor->loadModule(text, std::strlen(text), false));
    words = static_cast<uint32_t *>(*executor->allocate(64 * 16));
  }
  std::unique_ptr<Stream> stream() {
    return std::move(*executor->createStream());
  }
  uint32_t word(unsigned i) const { return words[i * apart]; }

  Status launch(Stream &on, const char *name, std::vector<uint32_t> values,
                uint32_t blocks = 1) {
    std::vector<void *> places{&words};
    for (uint32_t &v : values)
      places.push_back(&v);
    LaunchShape shape;
    shape.grid[0] = blocks;
    Arguments arguments;
    arguments.addresses = places.data();
    arguments.asDeclared = true;
    return on.launch(**module->kernel(name), shape, arguments);
  }
  Status meet(Stream &on, bool first, uint32_t blocks, uint32_t want,
              uint32_t out) {
    return launch(
        on, "meet",
        {first ? 0u : 2u, first ? 2u : 0u, first ? 100u : 200u, want, out},
        blocks);
  }
};

std::string told(const Status &s) { return s ? "" : s.error().str(); }

} // namespace

// Data that one writes and the other reads is ordered by the flags, the blocks
// of a launch rely on no order, and the first to be launched waits.
TEST(Streams, KernelsWaitForEachOther) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Device d(seed);
    auto one = d.stream(), two = d.stream();
    EXPECT_EQ(told(d.meet(*one, true, 3, 2, 4)), "") << seed;
    EXPECT_EQ(told(d.meet(*two, false, 2, 3, 10)), "") << seed;
    EXPECT_EQ(told(one->synchronize()), "") << seed;
    EXPECT_EQ(told(two->synchronize()), "") << seed;
    EXPECT_EQ(d.word(4), 200u);
    EXPECT_EQ(d.word(6), 200u);
    EXPECT_EQ(d.word(10), 100u);
    EXPECT_EQ(d.word(11), 100u);
    EXPECT_EQ(d.executor->findings().count, 0u);
    // Once more: nothing is left of the first time.
    d.words[1 * 4] = d.words[3 * 4] = 0;
    EXPECT_EQ(told(d.meet(*two, false, 2, 3, 10)), "") << seed;
    EXPECT_EQ(told(d.meet(*one, true, 3, 2, 4)), "") << seed;
    EXPECT_EQ(told(d.executor->synchronize()), "") << seed;
  }
}

// What another kernel wrote is a race where nothing orders the two, even when
// that one has ended by then; what a kernel wrote that had ended before is not.
TEST(Streams, KernelsThatRunTogetherMayRace) {
  Device d;
  auto one = d.stream(), two = d.stream();
  EXPECT_EQ(told(d.launch(*one, "careless", {4})), "");
  EXPECT_EQ(told(d.launch(*two, "tell", {7})), "");
  std::string error = told(one->synchronize());
  EXPECT_NE(
      error.find("race: careless: reads memory that another thread writes"),
      std::string::npos)
      << error;
  EXPECT_NE(error.find("of kernel tell"), std::string::npos) << error;
  EXPECT_EQ(d.word(4), 7u);
  EXPECT_EQ(told(two->synchronize()), "");
  // Told once.
  EXPECT_EQ(told(one->synchronize()), "");
  EXPECT_EQ(told(d.launch(*one, "careless", {5})), "");
  EXPECT_EQ(told(one->synchronize()), "");
}

TEST(Streams, ADeadlockIsFoundByWhoWaits) {
  Device d;
  auto one = d.stream(), two = d.stream();
  // Either waits for one more than there are.
  EXPECT_EQ(told(d.meet(*one, true, 1, 2, 4)), "");
  EXPECT_EQ(told(d.meet(*two, false, 1, 2, 5)), "");
  for (Stream *s : {one.get(), two.get()}) {
    std::string error = told(s->synchronize());
    EXPECT_NE(error.find("deadlock: meet: waits for a word of memory"),
              std::string::npos)
        << error;
  }
  EXPECT_EQ(d.word(4), 0u);
  // Memory and modules that a kernel under way may use stay until it has ended.
  auto event = std::move(*d.executor->createEvent());
  EXPECT_EQ(told(d.meet(*one, true, 1, 9, 4)), "");
  EXPECT_EQ(told(one->record(*event)), "");
  EXPECT_EQ(told(two->wait(*event)), "");
  EXPECT_EQ(told(two->synchronize()), "");
  EXPECT_NE(told(event->synchronize()) + told(one->synchronize()), "");
  EXPECT_EQ(told(d.meet(*one, true, 1, 9, 4)), "");
  one.reset();
  EXPECT_EQ(told(d.executor->free(d.words)), "");
  EXPECT_NE(told(d.executor->synchronize()), "");
  EXPECT_EQ(told(d.executor->synchronize()), "");
}

// What comes behind a kernel that waits is done when that has ended.
TEST(Streams, OrderHoldsBehindAKernelThatWaits) {
  Device d;
  auto one = d.stream(), two = d.stream(), three = d.stream();
  auto event = std::move(*d.executor->createEvent());
  auto late = std::move(*d.executor->createEvent());
  uint32_t got = 0, filled = 5, called = 0;
  EXPECT_EQ(told(d.meet(*one, true, 1, 1, 4)), "");
  EXPECT_EQ(told(one->copy(&got, d.words + 16, 4, Direction::DeviceToHost)),
            "");
  EXPECT_EQ(told(one->callback([&] { called = got; })), "");
  EXPECT_EQ(told(one->record(*event)), "");
  EXPECT_EQ(told(three->wait(*event)), "");
  EXPECT_EQ(told(three->fill(d.words + 16, 0, 4)), "");
  EXPECT_EQ(told(three->record(*late)), "");
  EXPECT_FALSE(late->elapsedSince(*event));
  EXPECT_EQ(got, 0u);
  EXPECT_EQ(told(d.meet(*two, false, 1, 1, 5)), "");
  EXPECT_EQ(told(late->synchronize()), "");
  EXPECT_EQ(got, 200u);
  EXPECT_EQ(called, 200u);
  EXPECT_EQ(d.word(4), 0u);
  EXPECT_EQ(d.word(5), 100u);
  EXPECT_GE(*late->elapsedSince(*event), 0);
  // The host's own stores are noticed by who waits.
  EXPECT_EQ(told(d.meet(*one, true, 1, 4, 4)), "");
  d.words[3 * Device::apart] = 4;
  EXPECT_EQ(told(one->synchronize()), "");
  // A callback may use any stream.
  EXPECT_EQ(
      told(one->callback([&] {
        EXPECT_EQ(told(two->copy(&filled, d.words, 4, Direction::DeviceToHost)),
                  "");
        EXPECT_EQ(told(one->copy(&called, d.words, 4, Direction::DeviceToHost)),
                  "");
        EXPECT_EQ(told(one->synchronize()), "");
      })),
      "");
  EXPECT_EQ(filled, 100u);
  EXPECT_EQ(called, 100u);
}

// An undefined value goes from kernel to kernel, and its origin with it. What
// is found when the host gets it is told by who waits for that copy.
TEST(Streams, UndefinedValuesGoFromKernelToKernel) {
  Device d;
  auto one = d.stream(), two = d.stream();
  uint32_t got = 0;
  EXPECT_EQ(told(d.meet(*one, false, 1, 1, 4)), "");
  EXPECT_EQ(told(one->copy(&got, d.words + 16, 4, Direction::DeviceToHost)),
            "");
  EXPECT_EQ(told(d.launch(*two, "leaves", {})), "");
  EXPECT_EQ(told(two->synchronize()), "");
  std::string error = told(one->synchronize());
  EXPECT_NE(error.find("uninitialised: meet: stores %r6, computed from %never, "
                       "which was never written; the host gets 4 bytes"),
            std::string::npos)
      << error;
  EXPECT_EQ(d.executor->findings().count, 1u);
}

// The host sees memory of its own when no kernel is at it any more.
TEST(Streams, TheHostSeesUndefinedValuesWhenAllHaveEnded) {
  alignas(16) uint32_t words[32] = {};
  sim::Simulator simulator(*sim::targetNamed("sm_80"), {});
  simulator.registerHost(words, sizeof words, "'words'");
  auto module = std::move(*simulator.load(text, "streams.ptx"));
  sim::LaunchRequest request;
  request.parameters.resize(8);
  uint32_t *at = words;
  std::memcpy(request.parameters.data(), &at, 8);
  auto counts = *simulator.begin(*module, "counts", request);
  auto leaves = *simulator.begin(*module, "leaves", request);
  while (!counts->ended() && simulator.advance(1000, false))
    ;
  ASSERT_TRUE(leaves->ended() && counts->ended());
  EXPECT_TRUE(leaves->report()->findings.empty());
  ASSERT_EQ(counts->report()->findings.size(), 1u);
  EXPECT_EQ(counts->report()->findings[0].kernel, "leaves");
  EXPECT_EQ(counts->report()->findings[0].where, "'words' + 0 (of 128 bytes)");
}

// Whoever does more than look has turns with the others, and an end.
TEST(Streams, LaunchesTakeTurns) {
  sim::Options options;
  options.maximumInstructions = 100000;
  sim::Simulator simulator(*sim::targetNamed("sm_80"), options);
  auto module = std::move(*simulator.load(text, "streams.ptx"));
  auto *words = static_cast<uint32_t *>(*simulator.allocate(1024));
  simulator.markInitialised(words, 1024);
  sim::LaunchRequest request;
  request.parameters.resize(8);
  std::memcpy(request.parameters.data(), &words, 8);
  auto counts = *simulator.begin(*module, "counts", request);
  EXPECT_TRUE(simulator.advance(1000, false));
  EXPECT_FALSE(counts->ended());
  EXPECT_GT(words[16], 100u);
  request.parameters.resize(12);
  auto tell = *simulator.begin(*module, "tell", request);
  while (!counts->ended() && simulator.advance(1000, false))
    ;
  EXPECT_TRUE(tell->ended() && counts->ended());
  EXPECT_TRUE(counts->report()->findings.empty());
  EXPECT_EQ(counts->report()->stoppedAfter, 0u);
  request.parameters.resize(8);
  words[4] = 0;
  auto report = simulator.launch(*module, "counts", request);
  EXPECT_GT(report->stoppedAfter, 100000u);
}
