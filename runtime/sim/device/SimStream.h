// SPDX-License-Identifier: Apache-2.0
//
// Streams of a simulator and their queues.
//
// A call runs its operation before it returns, if it can: a launch that ends
// reports its findings at once. A kernel that waits for another stream's, or
// that runs very long, stays under way when its call returns. Later operations
// of its stream queue up:
//
//     stream 1   launch a (waits for b)   copy        under way, queued
//     stream 2   launch b                             ends, and a goes on
//
// Every call on any stream advances all streams. If the host waits for a stream
// and nothing can advance any more, that is a deadlock: a host thread launches
// what other kernels wait for before it waits itself.
#ifndef ACT_RUNTIME_SIM_DEVICE_SIMSTREAM_H
#define ACT_RUNTIME_SIM_DEVICE_SIMSTREAM_H
#include "runtime/Executor.h"
#include "runtime/sim/device/SimExecutor.h"
#include <chrono>
#include <deque>
#include <optional>

namespace act::runtime {

/// An operation of a stream.
struct SimTask {
  virtual ~SimTask() = default;
  /// Advances the operation; empty while it has not ended.
  virtual std::optional<Status> attempt() = 0;
  /// Whether the first attempt() always ends it.
  virtual bool isDoneAtOnce() const { return false; }
  /// Nothing can advance any more: ends what it waits for.
  virtual void giveUp() {}
  std::optional<Status> outcome;
  bool left = false; // its call has returned; a failure goes to the queue
};

/// Operations in order; the first is under way.
struct SimQueue {
  std::deque<std::shared_ptr<SimTask>> tasks;
  std::optional<Error> failure; // the first not yet returned by a call
  bool abandoned = false;       // its stream is gone
};

class SimEvent : public Event {
public:
  explicit SimEvent(SimExecutor &device) : device(device) {}
  Status synchronize() override;
  Result<double> elapsedSince(Event &start) override;

  /// One recording of the event.
  struct Record {
    std::weak_ptr<SimQueue> queue;
    std::optional<std::chrono::steady_clock::time_point> time;
  };
  std::shared_ptr<Record> last; // guarded by the device's `running`

private:
  SimExecutor &device;
};

class SimStream : public Stream {
public:
  explicit SimStream(SimExecutor &device);
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
  SimExecutor &device;
  std::shared_ptr<SimQueue> queue;
};

} // namespace act::runtime
#endif
