// SPDX-License-Identifier: Apache-2.0
//
// Slots and generations of handles (HandleTable.h).
#include "runtime/capi/HandleTable.h"
#include <shared_mutex>

using namespace act::runtime;

namespace {
struct Slot {
  std::shared_ptr<void> object;
  uint32_t generation = 1;
  Kind kind = Kind::Device;
};
struct Table {
  std::shared_mutex mutex;
  std::vector<Slot> slots;
  std::vector<uint32_t> vacant;
};
} // namespace

// Never destroyed: other threads may still call during exit.
static Table &table() {
  static Table *t = new Table;
  return *t;
}

static const char *kindName(Kind kind) {
  static const char *const names[] = {"device", "module", "function",
                                      "stream", "event",  "step"};
  return names[static_cast<int>(kind)];
}

static Slot *slotOf(Table &t, Kind kind, const void *handle) {
  auto value = reinterpret_cast<uint64_t>(handle);
  uint64_t index = (value & 0xffffffffu) - 1;
  if ((value & 0xffffffffu) != 0 && index < t.slots.size()) {
    Slot &s = t.slots[index];
    if (s.object && s.generation == value >> 32 && s.kind == kind)
      return &s;
  }
  fail(ACTRT_INVALID_HANDLE, std::string("the handle is not a live ") +
                                 kindName(kind) +
                                 (handle ? "" : " (it is null)"));
  return nullptr;
}

void *act::runtime::addHandle(Kind kind, std::shared_ptr<void> object) {
  Table &t = table();
  std::unique_lock lock(t.mutex);
  if (t.vacant.empty()) {
    t.slots.emplace_back();
    t.vacant.push_back(static_cast<uint32_t>(t.slots.size() - 1));
  }
  uint32_t index = t.vacant.back();
  t.vacant.pop_back();
  Slot &s = t.slots[index];
  s.object = std::move(object);
  s.kind = kind;
  return reinterpret_cast<void *>(uint64_t{s.generation} << 32 | (index + 1));
}

std::shared_ptr<void> act::runtime::findHandle(Kind kind, const void *handle) {
  Table &t = table();
  std::shared_lock lock(t.mutex);
  Slot *s = slotOf(t, kind, handle);
  return s ? s->object : nullptr;
}

actrt_status act::runtime::releaseHandle(Kind kind, const void *handle) {
  return guarded([&]() -> actrt_status {
    std::shared_ptr<void> last; // destroyed after the lock is released
    Table &t = table();
    std::unique_lock lock(t.mutex);
    Slot *s = slotOf(t, kind, handle);
    if (!s)
      return ACTRT_INVALID_HANDLE;
    t.vacant.push_back(static_cast<uint32_t>(s - t.slots.data()));
    last = std::move(s->object);
    s->object = nullptr;
    ++s->generation;
    lock.unlock();
    return ACTRT_SUCCESS;
  });
}
