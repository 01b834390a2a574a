// SPDX-License-Identifier: Apache-2.0
//
// Each operation of a stream as a task.
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
  WaitFor(SimQueues &device, std::shared_ptr<SimEvent::Record> record)
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
  SimQueues &device;
  std::shared_ptr<SimEvent::Record> record;
};

// A launch: begins at the head of its stream, then runs as Simulator::advance()
// lets it.
struct SimLaunch : SimTask {
  SimLaunch(SimQueues &device, SimKernel &kernel, sim::LaunchRequest request)
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
  SimQueues &device;
  SimKernel &kernel;
  sim::LaunchRequest request;
  std::shared_ptr<sim::Launch> launch;
};

} // namespace

SimStream::SimStream(SimQueues &device)
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
  // Few, so that programs of small launches go round, too.
  constexpr uint32_t resident = 3;
  if (shape.persistent)
    request.grid[0] = static_cast<uint32_t>(residentBlocks(
        resident, clusterAlongX(k.facts, shape), request.grid[0]));
  request.dynamicSharedBytes = shape.sharedBytes;
  request.cooperative = shape.cooperative;
  request.atOnce = shape.atOnce;
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
