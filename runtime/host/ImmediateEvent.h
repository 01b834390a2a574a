// SPDX-License-Identifier: Apache-2.0
//
// Shared by devices whose streams run each operation before they return: an
// event has happened once it is recorded, and memory is directly accessible.
#ifndef ACT_RUNTIME_HOST_IMMEDIATEEVENT_H
#define ACT_RUNTIME_HOST_IMMEDIATEEVENT_H
#include "runtime/Executor.h"
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>

namespace act::runtime {

inline void storeWords(void *to, uint32_t value, unsigned width,
                       uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    std::memcpy(static_cast<uint8_t *>(to) + i * width, &value, width);
}

class ImmediateEvent : public Event {
public:
  Status record() {
    std::lock_guard lock(mutex);
    time = std::chrono::steady_clock::now();
    return ok();
  }
  Status synchronize() override {
    std::lock_guard lock(mutex);
    return time ? ok() : Status(Error{"the event was never recorded", ""});
  }
  Result<double> elapsedSince(Event &start) override {
    auto &other = static_cast<ImmediateEvent &>(start);
    auto from = other.when(), to = when();
    if (!from || !to)
      return Error{"the event was never recorded", ""};
    return std::chrono::duration<double, std::milli>(*to - *from).count();
  }

private:
  using Time = std::chrono::steady_clock::time_point;
  std::optional<Time> when() {
    std::lock_guard lock(mutex);
    return time;
  }
  std::mutex mutex;
  std::optional<Time> time; // since it was recorded
};

} // namespace act::runtime
#endif
