// SPDX-License-Identifier: Apache-2.0
//
// Numbers for texts and stores, the same one for equal entries.
#include "runtime/sim/memory/Origins.h"

namespace act::runtime::sim {

uint32_t Origins::add(const std::string &text) {
  std::lock_guard lock(mutex);
  auto [it, isNew] = byText.try_emplace(text, uint32_t(texts.size() + 1));
  if (isNew)
    texts.push_back(text);
  return it->second;
}

uint32_t Origins::add(const Store &store) {
  std::lock_guard lock(mutex);
  const std::string key =
      store.by.kernel + "\n" + store.by.message + "\n" + store.by.site.str();
  auto [it, isNew] = byStore.try_emplace(key, uint32_t(stores.size() + 1));
  if (isNew)
    stores.push_back(store);
  return it->second;
}

std::string Origins::text(uint32_t origin) const {
  std::lock_guard lock(mutex);
  return texts[origin - 1];
}

Origins::Store Origins::store(uint32_t number) const {
  std::lock_guard lock(mutex);
  return stores[number - 1];
}

} // namespace act::runtime::sim
