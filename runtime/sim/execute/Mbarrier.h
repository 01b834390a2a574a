// SPDX-License-Identifier: Apache-2.0
//
// An mbarrier object in shared memory. PTX keeps it opaque. Here the object is
// in a table of the CTA (Cta::mbarriers, by offset); its 8 bytes in shared
// memory are written only so that they count as initialised.
//
// A phase ends when no arrival is missing and the transaction count is zero:
//
//     init 2       phase 0, 2 missing, 0 bytes
//     expect 256   phase 0, 2 missing, 256 bytes
//     arrive       phase 0, 1 missing, 256 bytes    state: phase 0
//     arrive       phase 0, 0 missing, 256 bytes    state: phase 0
//     copy lands   phase 1, 2 missing, 0 bytes      waits for phase 0, and for
//                                                   parity 0, are over
//
// A thread that sees the phase end knows what the arrivals of all phases so far
// published: operations on an mbarrier are read-modify-writes of one object, so
// releases accumulate. What threads of other CTAs published reaches only waits
// with cluster scope.
//
// Copies that complete on the barrier are one agent (Clock.h). Each takes a
// tick when it is issued. The end of a phase publishes all copies before the
// first that has not landed. So a phase that ends too early, because of a wrong
// expected count, does not order pending copies.
//
// A phase may end only after every thread that waits for the one before has
// seen that one end; once two phases have ended, the parity looks as if none
// had. So looks that saw a phase end are recorded, and when the next phase
// ends, its arrivals must know of them. Execution order suffices here, memory
// order is not needed: an arrival vouches for its whole warp, and so does a
// wgmma or a copy that a thread issues after its look.
//
// An invalidated object stays in the table, dead, with its agent: a pending
// copy may still name it, and a later init revives it.
#ifndef ACT_RUNTIME_SIM_EXECUTE_MBARRIER_H
#define ACT_RUNTIME_SIM_EXECUTE_MBARRIER_H
#include "runtime/sim/memory/Clock.h"
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
  uint32_t agent;    // of copies, in the CTA; agent + 1 is that of its inits
  uint32_t expected; // arrivals of a phase
  int64_t pending;   // arrivals missing in this phase
  int64_t transactions = 0;
  uint64_t phase = 0; // phases ended
  /// What the end of the last phase publishes: to every wait, and in addition
  /// (remote) to waits with cluster scope.
  KnowledgeRef endedSeen, endedProxied, endedRemoteSeen, endedRemoteProxied;
  /// The last init: its epoch, its thread, and its instruction.
  Epoch initialised, initialiser;
  uint32_t initSite = 0;
  bool live = true;         // initialised and not invalidated
  bool used = false;        // since it was initialised
  bool observed = true;     // a wait has returned the end of the last phase
  bool overwritten = false; // and so dead
  bool unfenced = false;    // a copy was issued that saw no fence after init

  bool parity() const { return phase & 1; }
  /// What releasing arrivals published: of threads of its CTA, and (remote) of
  /// threads of other CTAs with cluster scope.
  Gathering seen, proxied, remoteSeen, remoteProxied;
  /// What relaxed arrivals would have published.
  Gathering relaxedSeen;
  /// The last arrival and its instruction.
  Epoch arrived;
  uint32_t arrivedSite = 0;
  /// A thread of the CTA saw `phase` end.
  void look(const Warp &warp, unsigned lane, uint64_t phase, uint32_t site);
  /// `count` arrivals; false when more arrive than are missing.
  bool arrive(uint32_t count);
  /// False when the count leaves its range (2^20 - 1).
  bool expect(int64_t bytes);
  bool completeTransactions(int64_t bytes);
  /// Lowers the expected count of later phases (mbarrier.arrive_drop); false
  /// when it is smaller than `count`.
  bool drop(uint32_t count);
  /// Initialises again; the agent and its ticks continue.
  void revive(uint32_t count);

  /// The epoch under which a new copy's accesses are checked and recorded.
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
    uint32_t copyTick = 0; // of the thread's next cp.async
  };
  std::vector<Look> looks; // by thread
  void endIfComplete();
  void checkLooks();
};

/// What an instruction does to an object: test it, change it (atomically), or
/// invalidate it.
enum class MbarrierAccess : uint8_t { Looks, Changes, Destroys };

/// The live object at an address. Null, and reported: a bad address, or bytes
/// that hold no live object. `ownOnly`: the object must be in the executing
/// CTA's shared memory. Also reported: an init that is not ordered before this
/// access, and an inval that earlier operations are not ordered before.
Mbarrier *mbarrierAt(const Context &c, const Instruction &at, unsigned lane,
                     ptx::Space space, uint64_t address, bool ownOnly,
                     MbarrierAccess access = MbarrierAccess::Changes);
/// Arrivals by a thread or a copy. False, and reported, when more arrive than
/// are missing. Also reported: an arrival before any wait has seen the last
/// phase end.
bool arriveOn(const Context &c, const Instruction &at, unsigned lane,
              Mbarrier &m, uint32_t count);

} // namespace act::runtime::sim
#endif
