// SPDX-License-Identifier: Apache-2.0
//
// How each call advances all streams, and what is kept of findings.
#include "runtime/sim/device/SimQueues.h"
#include <algorithm>

using namespace act;
using namespace act::runtime;

namespace {

// All findings are counted; their text is kept up to this size.
constexpr size_t maximumText = 1 << 20;

// In warp instructions: `patience` that a call waits for its operation before
// it returns without its end, `turn` of a launch before the others run.
constexpr uint64_t patience = uint64_t(1) << 25, turn = uint64_t(1) << 20;

} // namespace

// Runs the tasks at the heads of all queues until each queue is empty or its
// head has to wait.
bool SimQueues::attemptAll() {
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
bool SimQueues::goOn(const std::function<bool()> &enough) {
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

void SimQueues::finish(SimQueue &queue, const std::function<bool()> &ended) {
  while (!ended()) {
    if (goOn(ended))
      continue;
    // The host itself may have written what a kernel waits for.
    if (simulator.advance(turn, /*look=*/true))
      continue;
    giveUp(queue);
  }
}

void SimQueues::giveUp(SimQueue &queue) {
  if (!queue.tasks.empty())
    queue.tasks.front()->giveUp();
}

Status SimQueues::takeFailure(SimQueue &queue) {
  auto &failure = queue.failure ? queue.failure : abandoned;
  if (!failure)
    return ok();
  Error error = std::move(*failure);
  failure.reset();
  return error;
}

void SimQueues::finishAll() {
  std::lock_guard lock(running);
  for (size_t i = 0; i < queues.size(); ++i) {
    auto queue = queues[i];
    finish(*queue, [&] { return queue->tasks.empty(); });
  }
}

Findings SimQueues::kept() const {
  std::lock_guard lock(mutex);
  return noticed;
}

void SimQueues::clearKept() {
  std::lock_guard lock(mutex);
  noticed = {};
}

// Adds the findings of a launch to the device's, and makes an error of the
// first one. Harmless ones count only if the device was opened so.
Status SimQueues::keep(const std::vector<sim::Finding> &all) {
  std::vector<sim::Finding> found;
  for (const sim::Finding &f : all)
    if (benignFails || !sim::isTolerated(f.kind))
      found.push_back(f);
  if (found.empty())
    return ok();
  std::lock_guard lock(mutex);
  noticed.count += found.size();
  for (const sim::Finding &f : found)
    if (noticed.text.size() < maximumText)
      noticed.text += f.str() + "\n";
  std::string more =
      found.size() > 1
          ? " (and " + std::to_string(found.size() - 1) + " more findings)"
          : "";
  return Error{found.front().str() + more, ""};
}
