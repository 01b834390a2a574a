// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_RUNTIME_CAPI_ONSTREAM_H
#define ACT_RUNTIME_CAPI_ONSTREAM_H
#include "runtime/capi/HandleTable.h"

namespace act::runtime {

/// Looks up the stream and runs `body` on it, under its lock.
template <typename Body> actrt_status onStream(actrt_stream stream, Body body) {
  return guarded([&]() -> actrt_status {
    auto s = find<StreamObject>(Kind::Stream, stream);
    if (!s)
      return ACTRT_INVALID_HANDLE;
    std::lock_guard lock(s->mutex);
    return body(*s);
  });
}

} // namespace act::runtime
#endif
