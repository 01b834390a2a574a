// SPDX-License-Identifier: Apache-2.0
//
// Who knows of what: vector clocks.
//
// An agent is whoever touches memory: a thread, or something that works on a
// thread's behalf and finishes later. Per CTA of n threads:
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
// An Epoch names one access: agent, and the agent's tick when it happened. A
// thread that knows tick k of an agent knows every access of it up to k.
//
//     store x        epoch (t, 5)      tick(t) = 5
//     bar.sync       t publishes 5, then ticks to 6; all who leave know (t, 5)
//     load x         by u: u knows (t, 5): ordered, no race
//
// What a thread knows is a Knowledge, immutable and shared: after a barrier all
// threads hold the same one. A thread's own agents are kept beside it (Warp),
// so that running ahead costs nothing. Other CTAs are further parts of a
// Knowledge, one per CTA that was ever heard of.
//
// Two kinds of knowledge are kept for each thread: `seen` (happens before) and
// `proxied` (happens before, with a proxy fence on the way), which is what the
// async proxy needs to know of generic writes.
//
// A fence can be for one state space alone (.sync_restrict::shared::cta,
// fence.proxy.async.global). What is known by it of a CTA stands in a part of
// its own, for accesses to that space (Reach), and passes on like all else.
#ifndef ACT_RUNTIME_SIM_CLOCK_H
#define ACT_RUNTIME_SIM_CLOCK_H
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

/// 0 when tick is 0.
constexpr unsigned agentBits = 16, tickBits = 24, ctaBits = 24;
inline uint64_t pack(Epoch e) {
  return uint64_t(e.cta) << 40 | uint64_t(e.agent) << 24 | e.tick;
}
inline Epoch unpack(uint64_t p) {
  return {uint32_t(p >> 40), uint32_t(p >> 24) & 0xffff,
          uint32_t(p) & 0xffffff};
}

/// Of which memory something is known: all, the cluster's shared memory, or
/// from Own on that of the CTA of rank reach - Own.
enum class Reach : uint8_t { All, Global, Shared, Own };
constexpr Reach sharedOf(uint32_t rank) {
  return Reach(uint32_t(Reach::Own) + rank);
}
constexpr bool includes(Reach wide, Reach narrow) {
  return wide == narrow || wide == Reach::All ||
         (wide == Reach::Shared && narrow >= Reach::Own);
}
/// What parts of a Knowledge are kept by.
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
  /// Whether e is known, as far as it is about memory of `reach`.
  bool knows(Epoch e, Reach reach = Reach::All) const;
  /// The least tick known of `count` agents from `first` on.
  uint32_t leastTick(uint32_t cta, uint32_t first, uint32_t count) const;
  /// And the greatest, as to memory of `reach`.
  uint32_t mostTick(uint32_t cta, uint32_t first, uint32_t count,
                    Reach reach) const;
};
inline bool knows(const KnowledgeRef &k, Epoch e, Reach reach) {
  return k && k->knows(e, reach);
}
/// What k says of memory of `reach`, and of no other.
KnowledgeRef limited(const KnowledgeRef &k, Reach reach);
/// The least knowledge that has both; returns an argument when it has it all.
KnowledgeRef join(const KnowledgeRef &a, const KnowledgeRef &b);

/// Collects what several threads publish, then freezes it.
class Gathering {
public:
  void add(const KnowledgeRef &k); // cheap when k is what was added last
  void add(Epoch e);
  void add(const Gathering &other);
  bool empty() const { return parts.empty(); }
  void clear();
  /// Frozen; repeated calls without an add in between return the same.
  const KnowledgeRef &freeze();

private:
  struct Part {
    uint32_t cta;
    std::vector<uint32_t> ticks;
  };
  std::vector<Part> parts;          // ascending cta
  std::vector<KnowledgeRef> recent; // added before: skipped; bounded
  KnowledgeRef frozen;
  Part &part(uint32_t cta);
};

/// join() with a memory of the last pairs: 32 lanes ask the same question.
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

/// limited() with a memory of the last answer, likewise.
class Limiter {
public:
  const KnowledgeRef &operator()(const KnowledgeRef &k, Reach reach);

private:
  KnowledgeRef asked, answer;
  Reach of = Reach::All;
};

} // namespace act::runtime::sim
#endif
