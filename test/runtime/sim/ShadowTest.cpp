// SPDX-License-Identifier: Apache-2.0
//
// Shadow::accessLanes() against Shadow::access(), lane by lane: what the fast
// path takes for free of conflicts is, and what it records is found by later
// accesses as if each lane had been recorded alone.
#include "runtime/sim/memory/Shadow.h"
#include <array>
#include <gtest/gtest.h>
#include <random>

using namespace act::runtime::sim;

namespace {

// Agents of a CTA of two warps, as Clock.h numbers them: threads, cp.async, two
// kinds of bulk copies, and in one group of 32 the wgmma of each warp and the
// copies of an mbarrier.
constexpr uint32_t warps = 2, threads = 32 * warps, ctas = 2;
constexpr uint32_t wgmma = 4 * threads, mbarrier = wgmma + warps,
                   agents = wgmma + 32;
constexpr uint64_t bytesOfRegion = 3 * 16384; // three stretches

/// What the lanes of a warp know: a tick for each agent.
struct Known {
  std::array<std::array<uint32_t, agents>, ctas> ticks{};
  KnownTicks cache;
};

struct Lane : Observer {
  const Known &known;
  uint32_t thread;
  Lane(const Known &known, uint32_t thread) : known(known), thread(thread) {}
  bool ordered(Epoch e, bool) const override {
    return (e.cta == self.cta && e.agent == thread) ||
           known.ticks[e.cta][e.agent] >= e.tick;
  }
  bool heard(Epoch e, bool) const override {
    return known.ticks[e.cta][e.agent] >= e.tick;
  }
  uint32_t heardTick(Epoch first, bool) const override {
    uint32_t least = ~0u;
    for (uint32_t a = first.agent; a < first.agent + 32; ++a)
      least = std::min(least, a < agents ? known.ticks[first.cta][a] : 0);
    return least;
  }
  bool inScope(uint32_t, Scope) const override { return true; }
};

struct Lanes : WarpObserver {
  Known &of;
  explicit Lanes(Known &of) : WarpObserver(of.cache), of(of) {}
  uint32_t knownTick(Epoch first, uint32_t asked) override {
    uint32_t least = ~0u;
    for (; asked; asked &= asked - 1) {
      const uint32_t agent = first.agent + unsigned(__builtin_ctz(asked));
      least = std::min(least, agent < agents ? of.ticks[first.cta][agent] : 0);
    }
    return least;
  }
};

class Pair {
public:
  explicit Pair(unsigned seed) : random(seed) {
    for (Shadow *s : {&fast, &slow}) {
      s->define(0, bytesOfRegion);
      s->undefine(4096, 48, 0);
    }
    for (auto &of : now)
      of.fill(1);
  }

  void run(unsigned steps) {
    for (unsigned step = 0; step < steps && !testing::Test::HasFatalFailure();
         ++step)
      switch (random() % 8) {
      case 0:
        learn();
        break;
      case 1:
        tick();
        break;
      case 2:
        accessAlone();
        break;
      default:
        accessLanes();
      }
  }
  unsigned sure = 0, unsure = 0, conflicts = 0;

private:
  // Agents that did something move on.
  void tick() {
    for (auto &of : now)
      for (uint32_t &t : of)
        t += random() % 3 == 0;
  }
  // A warp learns what some agents did before now.
  void learn() {
    Known &of = known[random() % (ctas * warps)];
    const unsigned share = 1 + random() % 3;
    const bool all = random() % 2;
    for (uint32_t cta = 0; cta < ctas; ++cta)
      for (uint32_t a = 0; a < agents; ++a)
        if (all || random() % 3 < share)
          of.ticks[cta][a] = now[cta][a];
    of.cache = {};
    tick();
  }
  uint64_t place(unsigned bytes) {
    // Few places, so that accesses meet; also at the borders of stretches.
    const uint64_t near[] = {0, 4096 - 64, 16384 - 128, 2 * 16384 - 256};
    return (near[random() % 4] + random() % 512) / bytes * bytes;
  }
  void same(Conflict a, Conflict b, const char *what) {
    ASSERT_EQ(a.kind, b.kind) << what;
    conflicts += b.kind != Conflict::None;
  }

  // By one agent that is not a warp's lane: wgmma, or a copy of an mbarrier.
  void accessAlone() {
    const uint32_t warp = random() % (ctas * warps), cta = warp / warps;
    Lane by(known[warp], warp % warps * 32);
    const uint32_t agent =
        random() % 2 ? wgmma + warp % warps : mbarrier + 2 * (random() % 3);
    by.self = {cta, agent, now[cta][agent]};
    by.site = 100 + random() % 3;
    by.manner.async = by.manner.deferred = true;
    (random() % 2 ? by.manner.read : by.manner.write) = true;
    const uint64_t offset = place(16), bytes = 16 * (1 + random() % 8);
    const Conflict expected = slow.access(by, offset, bytes);
    if (by.manner.write)
      return same(fast.access(by, offset, bytes), expected, "one agent");
    std::vector<Shadow::Stretch> left;
    fast.readPlainly(by, 1u << agent % 32,
                     {{uint32_t(offset), uint32_t(offset + bytes)}}, left);
    if (left.empty())
      ASSERT_EQ(expected.kind, Conflict::None) << "a plain read";
    else
      same(fast.access(by, offset, bytes), expected,
           "a read that is not plain");
  }

  void accessLanes() {
    const uint32_t warp = random() % (ctas * warps), cta = warp / warps;
    const unsigned bytes = 1u << (random() % 3 ? 4 : random() % 6);
    const bool deferred = random() % 3 == 0;
    const uint32_t first = (deferred ? threads : 0) + warp % warps * 32;
    uint32_t mask = random() % 2 ? ~0u : uint32_t(random());
    uint64_t offsets[32];
    const uint64_t start = place(bytes), stride = random() % 4 * bytes;
    const bool scattered = random() % 3 == 0;
    for (uint64_t l = 0; l < 32; ++l)
      offsets[l] = scattered ? place(bytes) : start + l * stride;
    // Lanes that are alike in what they do, at one tick.
    uint32_t at = 0;
    for (unsigned l = 0; l < 32; ++l)
      at = std::max(at, now[cta][first + l]);
    for (unsigned l = 0; l < 32; ++l)
      now[cta][first + l] = at;

    Lanes by(known[warp]);
    by.self = {cta, first, at};
    by.site = random() % 3;
    by.manner.deferred = deferred;
    (random() % 3 ? by.manner.read : by.manner.write) = true;
    const uint32_t left = fast.accessLanes(by, offsets, mask, bytes);
    ASSERT_EQ(left & ~mask, 0u);
    bool overlap = false; // lanes that write one place: any of them conflicts
    for (unsigned l = 0; l < 32 && by.manner.write; ++l)
      for (unsigned k = 0; k < l; ++k)
        overlap |= mask >> l & mask >> k & 1 && offsets[l] == offsets[k];
    bool anyFast = false, anySlow = false;
    for (unsigned l = 0; l < 32; ++l) {
      if (!(mask >> l & 1))
        continue;
      Lane lane(known[warp], warp % warps * 32 + l);
      lane.self = {cta, first + l, at};
      lane.site = by.site;
      lane.manner = by.manner;
      const Conflict expected = slow.access(lane, offsets[l], bytes);
      Conflict found;
      if (left >> l & 1)
        found = fast.access(lane, offsets[l], bytes);
      (left >> l & 1 ? unsure : sure) += 1;
      conflicts += expected.kind != Conflict::None;
      anyFast |= found.kind != Conflict::None;
      anySlow |= expected.kind != Conflict::None;
      if (!overlap)
        ASSERT_EQ(found.kind, expected.kind)
            << "lane " << l << (left >> l & 1 ? ", unsure" : ", sure");
    }
    ASSERT_EQ(anyFast, anySlow);
  }

  std::mt19937 random;
  Shadow fast{bytesOfRegion, false}, slow{bytesOfRegion, false};
  std::array<Known, ctas * warps> known;
  std::array<std::array<uint32_t, agents>, ctas> now;
};

TEST(Shadow, LanesAtOnceAreJudgedAsOneByOne) {
  unsigned sure = 0, unsure = 0, conflicts = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    Pair pair(seed);
    pair.run(120);
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
    sure += pair.sure;
    unsure += pair.unsure;
    conflicts += pair.conflicts;
  }
  EXPECT_GT(sure, 20000u);
  EXPECT_GT(unsure, 20000u);
  EXPECT_GT(conflicts, 10000u);
}

} // namespace
