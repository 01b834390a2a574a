// SPDX-License-Identifier: Apache-2.0
//
// The races that HeldElements.h keeps until they turn out harmless, or the
// launch ends.
#include "runtime/sim/memory/HeldElements.h"
#include <algorithm>

namespace act::runtime::sim {

bool HeldElements::add(uint64_t where, const std::vector<Epoch> &readers,
                       Finding race) {
  if (count >= most)
    return false;
  std::lock_guard lock(mutex);
  races[where].push_back({readers, std::move(race)});
  ++count;
  return true;
}

void HeldElements::stored(uint64_t where, Epoch thread,
                          const std::function<void(Finding)> &harmless) {
  if (empty())
    return;
  std::lock_guard lock(mutex);
  auto it = races.find(where);
  if (it == races.end())
    return;
  std::vector<Race> &here = it->second;
  for (Race &race : here)
    race.readers.erase(std::remove_if(race.readers.begin(), race.readers.end(),
                                      [&](Epoch e) {
                                        return e.cta == thread.cta &&
                                               e.agent == thread.agent;
                                      }),
                       race.readers.end());
  for (size_t i = here.size(); i-- > 0;)
    if (here[i].readers.empty()) {
      harmless(std::move(here[i].finding));
      here.erase(here.begin() + long(i));
      --count;
    }
  if (here.empty())
    races.erase(it);
}

std::vector<Finding> HeldElements::takeAll() {
  std::lock_guard lock(mutex);
  std::vector<Finding> all;
  for (auto &[where, here] : races)
    for (Race &race : here)
      all.push_back(std::move(race.finding));
  races.clear();
  count = 0;
  return all;
}

} // namespace act::runtime::sim
