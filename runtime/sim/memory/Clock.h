// SPDX-License-Identifier: Apache-2.0
//
// Happens-before between memory accesses, by vector clocks.
//
// An agent accesses memory: a thread, or an asynchronous operation that a
// thread issued. Per CTA of n threads:
//
//     agent          is                                     ticks with
//     t              thread t                               each release
//     n + t          cp.async of thread t                   each commit, and
//                                                           arrival by cp.async
//     2n + t         bulk copies of t, their reads          each bulk commit
//     3n + t         bulk copies of t, their writes         each bulk commit
//     4n + w         wgmma of warp w                        each wgmma commit
//     4n + n/32 + 2m copies that mbarrier m counts          each copy
//     the next one   inits of mbarrier m                    each init
//
// An Epoch identifies an access: its agent, and the agent's tick at that time.
// A thread that knows tick k of an agent knows all its accesses up to k.
//
//     store x        epoch (t, 5)      tick(t) = 5
//     bar.sync       t publishes 5, then ticks to 6; all who leave know (t, 5)
//     load x         by u: u knows (t, 5): ordered, no race
//
// What a thread knows is a Knowledge, immutable and shared: after a barrier all
// threads hold the same object. The ticks of a thread's own agents are kept
// separately (Warp), so that advancing them makes no new Knowledge. A Knowledge
// has a part for each CTA it has heard of.
//
// Each thread keeps two kinds of knowledge: `seen` (happens-before) and
// `proxied` (happens-before with a proxy fence on the way). The async proxy
// needs the second for generic writes.
//
// A fence can apply to one state space alone (.sync_restrict::shared::cta,
// fence.proxy.async.global). What it tells of a CTA is a separate part, valid
// for accesses to that space (Reach), and propagates like the rest.
#ifndef ACT_RUNTIME_SIM_MEMORY_CLOCK_H
#define ACT_RUNTIME_SIM_MEMORY_CLOCK_H
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace act::runtime::sim {

struct Epoch {
  uint32_t cta = 0;   // linear index in the grid
  uint32_t agent = 0; // in the CTA
  uint32_t tick = 0;  // from 1; 0: no access
  bool operator==(const Epoch &o) const {
    return cta == o.cta && agent == o.agent && tick == o.tick;
  }
};

/// Packed, from the high bits: cta, agent, tick. 0 is the empty Epoch.
constexpr unsigned agentBits = 16, tickBits = 24, ctaBits = 24;
inline uint64_t pack(Epoch e) {
  return uint64_t(e.cta) << 40 | uint64_t(e.agent) << 24 | e.tick;
}
inline Epoch unpack(uint64_t p) {
  return {uint32_t(p >> 40), uint32_t(p >> 24) & 0xffff,
          uint32_t(p) & 0xffffff};
}

/// The memory for which something is known: all, global, the cluster's shared
/// memory, or from Own on the shared memory of the CTA of rank reach - Own.
enum class Reach : uint8_t { All, Global, Shared, Own };
constexpr Reach sharedOf(uint32_t rank) {
  return Reach(uint32_t(Reach::Own) + rank);
}
constexpr bool includes(Reach wide, Reach narrow) {
  return wide == narrow || wide == Reach::All ||
         (wide == Reach::Shared && narrow >= Reach::Own);
}
/// The key of a part of a Knowledge.
constexpr uint32_t partOf(uint32_t cta, Reach reach) {
  return cta | uint32_t(reach) << ctaBits;
}

constexpr uint32_t ctaOfPart(uint32_t part) {
  return part & ((1u << ctaBits) - 1);
}

class Knowledge;
using KnowledgeRef = std::shared_ptr<const Knowledge>; // null: knows nothing

class Knowledge {
public:
  /// Ticks of the agents of one CTA; agents beyond the end are at 0.
  struct Part {
    uint32_t cta; // partOf()
    std::shared_ptr<const std::vector<uint32_t>> ticks;
  };
  std::vector<Part> parts; // ascending cta
  /// Whether e, an access to memory of `reach`, is known.
  bool knows(Epoch e, Reach reach = Reach::All) const;
  /// The minimum of the ticks known of agents `first` + l, for l in `agents`.
  uint32_t leastTick(uint32_t cta, uint32_t first, uint32_t agents) const;
  /// And the maximum, for memory of `reach`.
  uint32_t mostTick(uint32_t cta, uint32_t first, uint32_t count,
                    Reach reach) const;
};
inline bool knows(const KnowledgeRef &k, Epoch e, Reach reach) {
  return k && k->knows(e, reach);
}
/// k restricted to memory of `reach`.
KnowledgeRef limited(const KnowledgeRef &k, Reach reach);
/// The union of both; returns an argument if that includes the other.
KnowledgeRef join(const KnowledgeRef &a, const KnowledgeRef &b);

/// Collects what several threads publish into one Knowledge.
class Gathering {
public:
  void add(const KnowledgeRef &k); // cheap when k was added recently
  void add(Epoch e);
  /// Of agents `first` + l, for l in `lanes`: the ticks; 0: no access. `part`:
  /// partOf() their CTA.
  void add(uint32_t part, uint32_t first, const std::array<uint32_t, 32> &ticks,
           uint32_t lanes);
  void add(const Gathering &other);
  bool empty() const { return parts.empty(); }
  void clear();
  /// The Knowledge; calls without an add() in between return the same object.
  const KnowledgeRef &freeze();

private:
  struct Part {
    uint32_t cta;
    std::vector<uint32_t> ticks;
  };
  std::vector<Part> parts;          // ascending cta
  std::vector<KnowledgeRef> recent; // already added, so skipped; bounded
  KnowledgeRef frozen;
  Part &part(uint32_t cta);
};

/// join() with a cache of the last pairs, since 32 lanes join the same ones.
class Joiner {
public:
  KnowledgeRef operator()(const KnowledgeRef &a, const KnowledgeRef &b);

private:
  struct Entry {
    KnowledgeRef a, b, result;
  };
  static constexpr unsigned count = 8;
  Entry entries[count];
  unsigned next = 0;
};

/// What each of a warp's lanes knows. Kept once while all lanes know the same.
class LaneKnowledge {
public:
  const KnowledgeRef &operator[](unsigned lane) const {
    return each ? (*each)[lane] : common;
  }
  bool isCommon() const { return !each; }
  /// `lanes` learn k. Lanes that are not in `live` have exited; what they know
  /// may change too.
  void learn(uint32_t lanes, uint32_t live, const KnowledgeRef &k,
             Joiner &joiner);
  /// Adds what `lanes` know.
  void addTo(Gathering &all, uint32_t lanes) const;

private:
  KnowledgeRef common;
  std::unique_ptr<std::array<KnowledgeRef, 32>> each; // null: common
};

/// limited() with a cache of the last result, likewise.
class Limiter {
public:
  const KnowledgeRef &operator()(const KnowledgeRef &k, Reach reach);

private:
  KnowledgeRef asked, answer;
  Reach of = Reach::All;
};

} // namespace act::runtime::sim
#endif
