// SPDX-License-Identifier: Apache-2.0
#include "runtime/capi/HandleTable.h"
#include "act/CInterface/HandleTable.h"

using namespace act::runtime;

// Never destroyed: other threads may still call during exit.
static act::HandleTable &table() {
  static auto *t = new act::HandleTable(
      {"device", "module", "function", "stream", "event", "step"});
  return *t;
}

void *act::runtime::addHandle(Kind kind, std::shared_ptr<void> object) {
  return table().add(static_cast<int>(kind), std::move(object));
}

std::shared_ptr<void> act::runtime::findHandle(Kind kind, const void *handle) {
  auto object = table().find(static_cast<int>(kind), handle);
  if (object)
    return *object;
  fail(ACTRT_INVALID_HANDLE, object.error().message);
  return nullptr;
}

actrt_status act::runtime::releaseHandle(Kind kind, const void *handle) {
  return guarded([&]() -> actrt_status {
    auto object = table().remove(static_cast<int>(kind), handle);
    return object ? ACTRT_SUCCESS
                  : fail(ACTRT_INVALID_HANDLE, object.error().message);
  });
}
