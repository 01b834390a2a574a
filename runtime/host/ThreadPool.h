// SPDX-License-Identifier: Apache-2.0
//
// Runs the blocks of a kernel on all threads of the pool and returns when the
// last one is done.
//
// A training step is thousands of launches of a few microseconds to a few
// milliseconds, so starting one must be very cheap. Workers spin for a short
// while after a launch before they sleep, one atomic counter hands out blocks,
// and a launch waits only for the workers that joined it. A worker joins by
// incrementing the entrant count in `gate`, a word that also holds the launch's
// number and whether it is closed:
//
//     gate: | number (48 bits) | closed (1) | entrants (15) |
//
// The caller runs blocks itself, then closes the gate. Workers that have not
// joined by then never read the job, so the next one can be published once
// `left` has reached the number of entrants. Nothing is allocated.
#ifndef ACT_RUNTIME_HOST_THREADPOOL_H
#define ACT_RUNTIME_HOST_THREADPOOL_H
#include "act/Result.h"
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace act::runtime {

using HostKernel = void (*)(void *const *args, int64_t block);

struct HostLaunch {
  HostKernel kernel = nullptr;
  void *const *args = nullptr;
  uint32_t argCount = 0;
  uint64_t grid = 1;
  uint64_t scratchBytes = 0;
};

class ThreadPool {
public:
  explicit ThreadPool(unsigned threads);
  ~ThreadPool();
  unsigned threads() const { return unsigned(workers.size()) + 1; }
  /// Blocks until every block has run. Calls from several threads take turns.
  Status run(const HostLaunch &launch);
  Status reserveScratch(uint64_t bytesPerThread);
  void forEachScratch(const std::function<void(uint8_t *, uint64_t)> &visit);
  uint64_t scratchBytes() const { return scratchSize * threads(); }
  static constexpr uint32_t maxArguments = 1024;

private:
  struct Worker {
    std::thread thread;
    uint8_t *scratch = nullptr;
    std::vector<void *> args; // a copy that ends in the thread's own scratch
  };
  void work(Worker &self);
  void runBlocks(Worker &self);

  std::mutex callers;
  std::vector<Worker> workers;
  Worker caller; // the thread that holds `callers`
  uint64_t scratchSize = 0;
  bool stopping = false;

  HostLaunch job;
  uint64_t chunk = 1;
  alignas(64) std::atomic<uint64_t> gate;
  alignas(64) std::atomic<uint64_t> next{0};
  alignas(64) std::atomic<uint32_t> left{0};
  alignas(64) std::atomic<uint32_t> sleepers{0};
  std::atomic<uint32_t> wake{0};
};

} // namespace act::runtime
#endif
