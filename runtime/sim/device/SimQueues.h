// SPDX-License-Identifier: Apache-2.0
//
// A simulator and the queues of its streams.
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
#ifndef ACT_RUNTIME_SIM_DEVICE_SIMQUEUES_H
#define ACT_RUNTIME_SIM_DEVICE_SIMQUEUES_H
#include "runtime/Executor.h"
#include "runtime/sim/Simulator.h"
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

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

/// The part of a device that streams and modules need.
class SimQueues {
public:
  SimQueues(const sim::Target &target, sim::Options options, bool benignFails)
      : simulator(target, std::move(options)), benignFails(benignFails) {}

  sim::Simulator simulator;
  DeviceInfo facts;

  // ---- streams, all under `running`
  std::recursive_mutex running;
  std::vector<std::shared_ptr<SimQueue>> queues;
  std::optional<Error> abandoned; // the first failure of destroyed streams
  /// Advances all streams until `enough`, or for a bounded time. False when
  /// nothing can advance.
  bool goOn(const std::function<bool()> &enough);
  /// Advances all streams until `ended`. If nothing can advance before that,
  /// the queue's first operation ends as a deadlock.
  void finish(SimQueue &queue, const std::function<bool()> &ended);
  /// The same for all queues.
  void finishAll();
  Status takeFailure(SimQueue &queue);
  /// Ends the first launch in the queue, or the one that it waits for.
  void giveUp(SimQueue &queue);

  // ---- findings
  /// Keeps findings; an error when there are any.
  Status keep(const std::vector<sim::Finding> &found);
  Findings kept() const;
  void clearKept();

private:
  /// Runs operations at the heads of streams as far as possible now.
  bool attemptAll();

  const bool benignFails;
  mutable std::mutex mutex;
  Findings noticed;
};

} // namespace act::runtime
#endif
