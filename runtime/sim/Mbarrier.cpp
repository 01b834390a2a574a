// SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/Mbarrier.h"
#include "runtime/sim/Machine.h"

namespace act::runtime::sim {

namespace {
constexpr int64_t maximumCount = (1 << 20) - 1;
}

Mbarrier::Mbarrier(Cta &cta, uint64_t offset, uint32_t count)
    : cta(cta), offset(offset), expected(count), pending(count) {
  uint32_t warps = cta.grid->warpsPerCta;
  agent = 4 * warps * 32 + warps + cta.nextMbarrierAgent++;
}

void Mbarrier::endIfComplete() {
  if (pending != 0 || transactions != 0)
    return;
  ++phase;
  pending = expected;
  seen.add(Epoch{cta.linear, agent, landedPrefix});
  endedSeen = seen.freeze();
  endedProxied = proxied.freeze();
  ++cta.cluster->events;
}

bool Mbarrier::arrive(uint32_t count) {
  if (int64_t(count) > pending)
    return false;
  pending -= count;
  ++cta.cluster->events;
  endIfComplete();
  return true;
}

bool Mbarrier::expect(int64_t bytes) {
  transactions += bytes;
  ++cta.cluster->events;
  return transactions <= maximumCount && transactions >= -maximumCount;
}

bool Mbarrier::completeTransactions(int64_t bytes) {
  transactions -= bytes;
  ++cta.cluster->events;
  bool good = transactions >= -maximumCount;
  endIfComplete();
  return good;
}

bool Mbarrier::drop(uint32_t count) {
  if (count > expected)
    return false;
  expected -= count;
  return true;
}

Epoch Mbarrier::issueCopy() { return {cta.linear, agent, ++issued}; }

void Mbarrier::landed(uint32_t tick) {
  landedBeyond.insert(tick);
  while (!landedBeyond.empty() && *landedBeyond.begin() == landedPrefix + 1) {
    ++landedPrefix;
    landedBeyond.erase(landedBeyond.begin());
  }
}

} // namespace act::runtime::sim
