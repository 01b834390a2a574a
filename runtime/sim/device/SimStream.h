// SPDX-License-Identifier: Apache-2.0
//
// Streams and events of a simulator; SimQueues.h says when their operations
// run.
#ifndef ACT_RUNTIME_SIM_DEVICE_SIMSTREAM_H
#define ACT_RUNTIME_SIM_DEVICE_SIMSTREAM_H
#include "runtime/Executor.h"
#include "runtime/sim/device/SimQueues.h"
#include <chrono>
#include <optional>

namespace act::runtime {

class SimEvent : public Event {
public:
  explicit SimEvent(SimQueues &device) : device(device) {}
  Status synchronize() override;
  Result<double> elapsedSince(Event &start) override;

  /// One recording of the event.
  struct Record {
    std::weak_ptr<SimQueue> queue;
    std::optional<std::chrono::steady_clock::time_point> time;
  };
  std::shared_ptr<Record> last; // guarded by the device's `running`

private:
  SimQueues &device;
};

class SimStream : public Stream {
public:
  explicit SimStream(SimQueues &device);
  ~SimStream() override;
  Status copy(void *to, const void *from, uint64_t bytes,
              Direction direction) override;
  Status fill(void *to, uint8_t value, uint64_t bytes) override;
  Status fillWords(void *to, uint32_t value, unsigned width,
                   uint64_t count) override;
  Status launch(Kernel &kernel, const LaunchShape &shape,
                const Arguments &arguments) override;
  Status record(Event &event) override;
  Status wait(Event &event) override;
  Status synchronize() override;
  Status callback(std::function<void()> function) override;

private:
  Status run(std::shared_ptr<SimTask> task);
  Status run(std::function<Status()> work);
  SimQueues &device;
  std::shared_ptr<SimQueue> queue;
};

} // namespace act::runtime
#endif
