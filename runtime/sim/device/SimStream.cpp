// SPDX-License-Identifier: Apache-2.0
//
// Queues of operations, and how each call advances all of them (SimStream.h).
#include "runtime/sim/device/SimStream.h"
#include "runtime/LaunchRules.h"
#include "runtime/host/ImmediateEvent.h"
#include "runtime/sim/device/SimModule.h"
#include <algorithm>
#include <cstring>

using namespace act;
using namespace act::runtime;

namespace {

// An operation that completes at once when it reaches the head of its stream.
struct Work : SimTask {
  explicit Work(std::function<Status()> function)
      : function(std::move(function)) {}
  bool isDoneAtOnce() const override { return true; }
  std::optional<Status> attempt() override { return function(); }
  std::function<Status()> function;
};

struct WaitFor : SimTask {
  WaitFor(SimExecutor &device, std::shared_ptr<SimEvent::Record> record)
      : device(device), record(std::move(record)) {}
  std::optional<Status> attempt() override {
    // The event of a stream that is gone counts as happened, or this stream
    // would wait for ever.
    if (!record->time && !record->queue.expired())
      return std::nullopt;
    return ok();
  }
  void giveUp() override {
    if (auto queue = record->queue.lock())
      device.giveUp(*queue);
  }
  SimExecutor &device;
  std::shared_ptr<SimEvent::Record> record;
};

} // namespace

namespace act::runtime {
// A launch: begins at the head of its stream, then runs as Simulator::advance()
// lets it.
struct SimLaunch : SimTask {
  SimLaunch(SimExecutor &device, SimKernel &kernel, sim::LaunchRequest request)
      : device(device), kernel(kernel), request(std::move(request)) {}
  std::optional<Status> attempt() override {
    if (!launch) {
      auto begun = device.simulator.begin(kernel.module, kernel.name, request);
      if (!begun)
        return begun.error();
      launch = *begun;
    }
    if (!launch->ended())
      return std::nullopt;
    const auto &report = launch->report();
    if (!report)
      return report.error();
    auto s = device.keep(report->findings);
    if (s && report->stoppedAfter)
      return sim::stopped(kernel.name, report->stoppedAfter);
    return s;
  }
  void giveUp() override {
    if (launch)
      device.simulator.giveUp(*launch);
  }
  SimExecutor &device;
  SimKernel &kernel;
  sim::LaunchRequest request;
  std::shared_ptr<sim::Launch> launch;
};
} // namespace act::runtime

SimStream::SimStream(SimExecutor &device)
    : device(device), queue(std::make_shared<SimQueue>()) {
  std::lock_guard lock(device.running);
  device.queues.push_back(queue);
}

SimStream::~SimStream() {
  std::lock_guard lock(device.running);
  queue->abandoned = true;
}

// Queues the operation and advances all streams until it is done. If it takes
// too long, the call returns without it; a failure that comes later is kept for
// the call that waits for the stream.
Status SimStream::run(std::shared_ptr<SimTask> task) {
  std::lock_guard lock(device.running);
  queue->tasks.push_back(task);
  device.goOn([&] { return task->outcome.has_value(); });
  if (task->outcome)
    return *task->outcome;
  task->left = true;
  return ok();
}

Status SimStream::run(std::function<Status()> work) {
  return run(std::make_shared<Work>(std::move(work)));
}

// Definedness moves with the bytes: what comes from the host is defined, a copy
// on the device copies it, and what goes to the host is checked.
Status SimStream::copy(void *to, const void *from, uint64_t bytes,
                       Direction direction) {
  return run([=, &device = device]() -> Status {
    sim::Memory &memory = device.simulator.memory();
    std::memmove(to, from, bytes);
    if (direction == Direction::HostToDevice)
      device.simulator.markInitialised(to, bytes);
    if (direction == Direction::DeviceToDevice || direction == Direction::Any)
      memory.copyDefined(to, from, bytes);
    device.simulator.changed();
    if (direction == Direction::DeviceToHost ||
        (direction == Direction::Any &&
         !memory.find(reinterpret_cast<uint64_t>(to))))
      return device.keep(device.simulator.takenByHost(from, bytes));
    return ok();
  });
}

Status SimStream::fill(void *to, uint8_t value, uint64_t bytes) {
  return run([=, &device = device] {
    std::memset(to, value, bytes);
    device.simulator.markInitialised(to, bytes);
    device.simulator.changed();
    return ok();
  });
}

Status SimStream::fillWords(void *to, uint32_t value, unsigned width,
                            uint64_t count) {
  return run([=, &device = device] {
    storeWords(to, value, width, count);
    device.simulator.markInitialised(to, width * count);
    device.simulator.changed();
    return ok();
  });
}

Status SimStream::launch(Kernel &kernel, const LaunchShape &shape,
                         const Arguments &arguments) {
  auto &k = static_cast<SimKernel &>(kernel);
  if (auto s = checkLaunch(device.facts, k.facts, shape); !s)
    return s;
  auto parameters = packArguments(k.layout, arguments);
  if (!parameters)
    return parameters.error();
  sim::LaunchRequest request;
  for (int i = 0; i < 3; ++i) {
    request.grid[i] = static_cast<uint32_t>(shape.grid[i]);
    request.block[i] = shape.block[i];
    request.cluster[i] = shape.cluster[i];
  }
  request.dynamicSharedBytes = shape.sharedBytes;
  request.cooperative = shape.cooperative;
  request.parameters = std::move(*parameters);
  return run(std::make_shared<SimLaunch>(device, k, std::move(request)));
}

Status SimStream::record(Event &event) {
  auto record = std::make_shared<SimEvent::Record>();
  record->queue = queue;
  std::lock_guard lock(device.running);
  static_cast<SimEvent &>(event).last = record;
  return run([record] {
    record->time = std::chrono::steady_clock::now();
    return ok();
  });
}

// An event that was never recorded is no reason to wait, as in CUDA.
Status SimStream::wait(Event &event) {
  std::lock_guard lock(device.running);
  auto record = static_cast<SimEvent &>(event).last;
  return record ? run(std::make_shared<WaitFor>(device, record)) : ok();
}

Status SimStream::synchronize() {
  std::lock_guard lock(device.running);
  device.finish(*queue, [&] { return queue->tasks.empty(); });
  return device.takeFailure(*queue);
}

Status SimStream::callback(std::function<void()> function) {
  return run([function = std::move(function)] {
    function();
    return ok();
  });
}

Status SimEvent::synchronize() {
  std::lock_guard lock(device.running);
  if (!last)
    return Error{"the event was never recorded", ""};
  auto queue = last->queue.lock();
  if (last->time || !queue)
    return ok();
  device.finish(*queue, [&] { return last->time.has_value(); });
  return device.takeFailure(*queue);
}

Result<double> SimEvent::elapsedSince(Event &start) {
  std::lock_guard lock(device.running);
  auto &from = static_cast<SimEvent &>(start).last;
  if (!from || !last)
    return Error{"the event was never recorded", ""};
  if (!from->time || !last->time)
    return Error{"the event has not completed yet; synchronize with it first",
                 ""};
  return std::chrono::duration<double, std::milli>(*last->time - *from->time)
      .count();
}

// ---- advancing all streams

namespace {

// In warp instructions: `patience` that a call waits for its operation before
// it returns without its end, `turn` of a launch before the others run.
constexpr uint64_t patience = uint64_t(1) << 25, turn = uint64_t(1) << 20;

} // namespace

// Runs the tasks at the heads of all queues until each queue is empty or its
// head has to wait.
bool SimExecutor::attemptAll() {
  bool moved = false;
  for (size_t i = 0; i < queues.size(); ++i) {
    auto queue = queues[i]; // a callback may make streams
    while (!queue->tasks.empty()) {
      auto task = queue->tasks.front();
      // A task that is done at once may be a callback that uses this stream.
      const bool atOnce = task->isDoneAtOnce();
      if (atOnce)
        queue->tasks.pop_front();
      auto outcome = task->attempt();
      if (!outcome)
        break;
      moved = true;
      if (!atOnce)
        queue->tasks.pop_front();
      if (task->left && !*outcome && !queue->failure)
        queue->failure = outcome->error();
      task->outcome = std::move(outcome);
    }
  }
  queues.erase(std::remove_if(queues.begin(), queues.end(),
                              [&](auto &q) {
                                bool gone = q->abandoned && q->tasks.empty();
                                if (gone && q->failure && !abandoned)
                                  abandoned = q->failure;
                                return gone;
                              }),
               queues.end());
  return moved;
}

// Advances all streams until `enough`, or for `patience` instructions. False:
// nothing can move.
bool SimExecutor::goOn(const std::function<bool()> &enough) {
  attemptAll();
  for (uint64_t ran = 0; !enough() && ran < patience;) {
    auto busy = std::count_if(queues.begin(), queues.end(),
                              [](auto &q) { return !q->tasks.empty(); });
    // A kernel may wait for another stream's, so busy streams take turns. One
    // alone needs none.
    uint64_t steps = busy > 1 ? turn : patience;
    bool moved = simulator.advance(steps, /*look=*/false);
    moved |= attemptAll();
    if (!moved)
      return false;
    ran += steps;
  }
  return true;
}

void SimExecutor::finish(SimQueue &queue, const std::function<bool()> &ended) {
  while (!ended()) {
    if (goOn(ended))
      continue;
    // The host itself may have written what a kernel waits for.
    if (simulator.advance(turn, /*look=*/true))
      continue;
    giveUp(queue);
  }
}

void SimExecutor::giveUp(SimQueue &queue) {
  if (!queue.tasks.empty())
    queue.tasks.front()->giveUp();
}

Status SimExecutor::takeFailure(SimQueue &queue) {
  auto &failure = queue.failure ? queue.failure : abandoned;
  if (!failure)
    return ok();
  Error error = std::move(*failure);
  failure.reset();
  return error;
}

void SimExecutor::finishAll() {
  std::lock_guard lock(running);
  for (size_t i = 0; i < queues.size(); ++i) {
    auto queue = queues[i];
    finish(*queue, [&] { return queue->tasks.empty(); });
  }
}

Status SimExecutor::synchronize() {
  std::lock_guard lock(running);
  finishAll();
  for (auto &queue : queues)
    if (queue->failure)
      return takeFailure(*queue);
  // A stream that is gone may have left a failure too.
  SimQueue none;
  return takeFailure(none);
}
