// SPDX-License-Identifier: Apache-2.0
//
// Texts for the origins of undefined values, and the stores that put such
// values in memory. Values outlive the launch that made them, and so must their
// origins: they belong to the Memory. Both kinds are numbered from 1.
//
//     origin    "%r3, which was never written"
//     store     the finding to report when the stored value is used, and its
//               origin
//
// Equal entries share a number, so there are at most as many as places in
// programs.
#ifndef ACT_RUNTIME_SIM_MEMORY_ORIGINS_H
#define ACT_RUNTIME_SIM_MEMORY_ORIGINS_H
#include "runtime/sim/program/Finding.h"
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
