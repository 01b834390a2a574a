// SPDX-License-Identifier: Apache-2.0
//
// Slots and generations of handles (HandleTable.h).
#include "act/CInterface/HandleTable.h"
#include <mutex>

using namespace act;

HandleTable::Slot *HandleTable::slotOf(int kind, const void *handle) {
  const auto value = reinterpret_cast<uint64_t>(handle);
  const uint64_t index = (value & 0xffffffffu) - 1;
  if ((value & 0xffffffffu) == 0 || index >= slots.size())
    return nullptr;
  Slot &s = slots[index];
  const bool isLive = s.object && s.generation == value >> 32;
  return isLive && s.kind == kind ? &s : nullptr;
}

Error HandleTable::notLive(int kind, const void *handle) const {
  return Error{"the handle is not a live " + kinds[kind] +
                   (handle ? "" : " (it is null)"),
               ""};
}

void *HandleTable::add(int kind, std::shared_ptr<void> object) {
  std::unique_lock lock(mutex);
  if (vacant.empty()) {
    slots.emplace_back();
    vacant.push_back(static_cast<uint32_t>(slots.size() - 1));
  }
  const uint32_t index = vacant.back();
  vacant.pop_back();
  Slot &s = slots[index];
  s.object = std::move(object);
  s.kind = kind;
  return reinterpret_cast<void *>(uint64_t{s.generation} << 32 | (index + 1));
}

Result<std::shared_ptr<void>> HandleTable::find(int kind, const void *handle) {
  std::shared_lock lock(mutex);
  Slot *s = slotOf(kind, handle);
  if (!s)
    return notLive(kind, handle);
  return s->object;
}

Result<std::shared_ptr<void>> HandleTable::remove(int kind,
                                                  const void *handle) {
  std::unique_lock lock(mutex);
  Slot *s = slotOf(kind, handle);
  if (!s)
    return notLive(kind, handle);
  vacant.push_back(static_cast<uint32_t>(s - slots.data()));
  std::shared_ptr<void> last = std::move(s->object);
  s->object = nullptr;
  ++s->generation;
  return last; // destroyed by the caller, after the lock is released
}
