// SPDX-License-Identifier: Apache-2.0
//
// Where undefined values came from, in words, and who stored them in memory.
// Values outlive the launch that made them, so their origins do: they belong to
// the Memory. Both kinds have numbers from 1.
//
//     origin    "%r3, which was never written"
//     store     the finding that there is if somebody uses what is in memory
//               now, and the origin of it
//
// Equal ones have one number, so there are no more than places in programs.
#ifndef ACT_RUNTIME_SIM_ORIGINS_H
#define ACT_RUNTIME_SIM_ORIGINS_H
#include "runtime/sim/Finding.h"
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace act::runtime::sim {

class Origins {
public:
  struct Store {
    Finding by;
    uint32_t origin;
  };
  uint32_t add(const std::string &text);
  uint32_t add(const Store &store);
  std::string text(uint32_t origin) const;
  Store store(uint32_t number) const;

private:
  mutable std::mutex mutex;
  std::vector<std::string> texts;
  std::vector<Store> stores;
  std::unordered_map<std::string, uint32_t> byText, byStore;
};

} // namespace act::runtime::sim
#endif
