// SPDX-License-Identifier: Apache-2.0
//
// An mbarrier object in shared memory. PTX keeps it opaque; here the object
// stands in a table of the CTA (Cta::mbarriers, by offset), and its 8 bytes in
// shared memory are written only so that they are initialised.
//
// A phase ends when no arrival is missing and the transaction count is zero.
// Whoever then sees the phase ended knows what the arrivals published, of all
// phases so far: operations on one mbarrier are read-modify-writes of one
// object, so releases accumulate.
//
// Copies that complete on the barrier are one agent (Clock.h). Each takes a
// tick when it is issued; the end of a phase tells of all copies up to the
// first that has not landed. A phase that ends too early, for a wrong expected
// count, therefore does not order what is still under way.
#ifndef ACT_RUNTIME_SIM_MBARRIER_H
#define ACT_RUNTIME_SIM_MBARRIER_H
#include "runtime/sim/Clock.h"
#include <cstdint>
#include <set>

namespace act::runtime::sim {

class Cta;

struct Mbarrier {
  /// count: 1 ... 2^20 - 1.
  Mbarrier(Cta &cta, uint64_t offset, uint32_t count);
  Cta &cta;
  uint64_t offset;
  uint32_t agent;    // in the CTA
  uint32_t expected; // arrivals of a phase
  int64_t pending;   // arrivals missing in this phase
  int64_t transactions = 0;
  uint64_t phase = 0;                   // phases ended
  KnowledgeRef endedSeen, endedProxied; // what the last end tells

  bool parity() const { return phase & 1; }
  /// What a thread publishes with a releasing arrival.
  Gathering seen, proxied;
  /// `count` arrivals; false when more arrive than are missing.
  bool arrive(uint32_t count);
  /// False when the count leaves its range (2^20 - 1).
  bool expect(int64_t bytes);
  bool completeTransactions(int64_t bytes);
  /// Changes the expected count of coming phases (mbarrier.arrive_drop).
  bool drop(uint32_t count);

  /// A copy's epoch, to be judged and recorded under.
  Epoch issueCopy();
  void landed(uint32_t tick);

private:
  uint32_t issued = 0, landedPrefix = 0;
  std::set<uint32_t> landedBeyond;
  void endIfComplete();
};

} // namespace act::runtime::sim
#endif
