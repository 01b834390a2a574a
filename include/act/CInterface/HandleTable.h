// SPDX-License-Identifier: Apache-2.0
//
// Opaque handles of a C interface. A handle is never dereferenced: it is
//
//     generation (32 bits) | slot + 1 (32 bits)
//
// and a slot stores its generation, so a released or invalid handle, or one of
// another kind, is detected. Lookup returns shared ownership: a release in one
// thread leaves the object alive for a thread that is using it.
#ifndef ACT_CINTERFACE_HANDLETABLE_H
#define ACT_CINTERFACE_HANDLETABLE_H
#include "act/Result.h"
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

static_assert(sizeof(void *) == 8, "handles need 64 bits");

namespace act {

/// A kind is a number; `kinds` are their names, for messages.
class HandleTable {
public:
  explicit HandleTable(std::vector<std::string> kinds)
      : kinds(std::move(kinds)) {}

  void *add(int kind, std::shared_ptr<void> object);
  /// An error unless the handle is live and of this kind.
  Result<std::shared_ptr<void>> find(int kind, const void *handle);
  /// The same, and the handle is no longer live.
  Result<std::shared_ptr<void>> remove(int kind, const void *handle);

private:
  struct Slot {
    std::shared_ptr<void> object;
    uint32_t generation = 1;
    int kind = 0;
  };
  Slot *slotOf(int kind, const void *handle);
  Error notLive(int kind, const void *handle) const;

  std::vector<std::string> kinds;
  std::shared_mutex mutex;
  std::vector<Slot> slots;
  std::vector<uint32_t> vacant;
};

} // namespace act
#endif
