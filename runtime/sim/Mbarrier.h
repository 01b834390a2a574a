// SPDX-License-Identifier: Apache-2.0
//
// An mbarrier object in shared memory. PTX keeps it opaque; here the object
// stands in a table of the CTA (Cta::mbarriers, by offset), and its 8 bytes in
// shared memory are written only so that they are initialised.
//
// A phase ends when no arrival is missing and the transaction count is zero.
//
//     init 2       phase 0, 2 missing, 0 bytes
//     expect 256   phase 0, 2 missing, 256 bytes
//     arrive       phase 0, 1 missing, 256 bytes    state: phase 0
//     arrive       phase 0, 0 missing, 256 bytes    state: phase 0
//     copy lands   phase 1, 2 missing, 0 bytes      waits for phase 0, and for
//                                                   parity 0, are over
//
// Whoever then sees the phase ended knows what the arrivals published, of all
// phases so far: operations on one mbarrier are read-modify-writes of one
// object, so releases accumulate. What threads of other CTAs published is told
// to those who wait with the scope of the cluster.
//
// Copies that complete on the barrier are one agent (Clock.h). Each takes a
// tick when it is issued; the end of a phase tells of all copies up to the
// first that has not landed. A phase that ends too early, for a wrong expected
// count, therefore does not order what is still under way.
//
// A phase may end only when everybody who waited for the one before has seen
// that one end: later, the parity says that nothing has. So the looks that saw
// a phase end are remembered, and when the next one ends, its arrivals must
// know of them. Execution is enough here, memory order is not asked for: an
// arrival tells of its whole warp, and so does a wgmma or a copy that a thread
// issues after it looked.
//
// An object that was invalidated stays in the table, dead, with its agent: a
// copy under way may still name it, and a later init revives it.
#ifndef ACT_RUNTIME_SIM_MBARRIER_H
#define ACT_RUNTIME_SIM_MBARRIER_H
#include "runtime/sim/Clock.h"
#include "runtime/sim/ptx/Ast.h"
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace act::runtime::sim {

class Cta;
class Warp;
struct Context;
struct Instruction;

struct Mbarrier {
  static constexpr int64_t maximumCount = (1 << 20) - 1;

  /// count: 1 ... maximumCount.
  Mbarrier(Cta &cta, uint64_t offset, uint32_t count);
  Cta &cta;
  uint64_t offset;
  uint32_t agent;    // in the CTA; the next one is that of its inits
  uint32_t expected; // arrivals of a phase
  int64_t pending;   // arrivals missing in this phase
  int64_t transactions = 0;
  uint64_t phase = 0; // phases ended
  /// What the last end tells whoever waits, and besides those who wait with
  /// the scope of the cluster.
  KnowledgeRef endedSeen, endedProxied, endedRemoteSeen, endedRemoteProxied;
  /// The last init, as others know of it, by which thread, and where.
  Epoch initialised, initialiser;
  uint32_t initSite = 0;
  bool live = true;     // initialised and not invalidated
  bool used = false;    // since it was initialised
  bool observed = true; // a wait has told somebody that the last phase ended
  bool overwritten = false; // and so dead
  bool unfenced = false;    // a copy came that knew of no fence behind the init

  bool parity() const { return phase & 1; }
  /// What a thread publishes with a releasing arrival: one of its CTA, and one
  /// of another CTA with the scope of the cluster.
  Gathering seen, proxied, remoteSeen, remoteProxied;
  /// What relaxed arrivals would have published.
  Gathering relaxedSeen;
  /// The last arrival, and where it was made.
  Epoch arrived;
  uint32_t arrivedSite = 0;
  /// A thread of the CTA saw `phase` end.
  void look(const Warp &warp, unsigned lane, uint64_t phase, uint32_t site);
  /// `count` arrivals; false when more arrive than are missing.
  bool arrive(uint32_t count);
  /// False when the count leaves its range (2^20 - 1).
  bool expect(int64_t bytes);
  bool completeTransactions(int64_t bytes);
  /// Changes the expected count of coming phases (mbarrier.arrive_drop).
  bool drop(uint32_t count);
  /// Initialises again; the agent goes on.
  void revive(uint32_t count);

  /// A copy's epoch, to be judged and recorded under.
  Epoch issueCopy();
  void landed(uint32_t tick);

  /// "phase 3 of an mbarrier: 1 of 2 arrivals and 128 bytes are missing"
  std::string describe(uint64_t waitedPhase) const;

private:
  uint32_t issued = 0, landedPrefix = 0;
  std::set<uint32_t> landedBeyond;
  struct Look {
    uint32_t tick = 0; // 0: none
    uint32_t site = 0;
    uint64_t phase = 0, wgmmaGroups = 0;
    uint32_t copyTick = 0; // of the thread's cp.async that come next
  };
  std::vector<Look> looks; // by thread
  void endIfComplete();
  void checkLooks();
};

/// What an instruction does to an object: it looks, changes it (atomically), or
/// invalidates it.
enum class MbarrierAccess : uint8_t { Looks, Changes, Destroys };

/// The live object at an address that an instruction names. Null, and reported:
/// a bad address, bytes that hold no live object. `ownOnly`: the object must
/// lie in the executing CTA. Reported too: an init that nothing orders before,
/// an inval that something else is not ordered before.
Mbarrier *mbarrierAt(const Context &c, const Instruction &at, unsigned lane,
                     ptx::Space space, uint64_t address, bool ownOnly,
                     MbarrierAccess access = MbarrierAccess::Changes);
/// An operation that signals an arrival, of a thread or of a copy: false, and
/// reported, when more arrive than are missing, or when nobody has looked at
/// the end of the last phase.
bool arriveOn(const Context &c, const Instruction &at, unsigned lane,
              Mbarrier &m, uint32_t count);

} // namespace act::runtime::sim
#endif
