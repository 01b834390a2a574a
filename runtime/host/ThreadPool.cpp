// SPDX-License-Identifier: Apache-2.0
//
// The protocol of ThreadPool.h: how a launch is published, joined and closed.
#include "runtime/host/ThreadPool.h"
#include <cstdlib>
#include <cstring>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace act;
using namespace act::runtime;

static constexpr uint64_t closedBit = 1u << 15;
static constexpr uint64_t entrantMask = closedBit - 1;
static constexpr int numberShift = 16;
// About 30 microseconds: longer than the gap between two launches of a step,
// short enough not to waste a core.
static constexpr int spins = 800;

static void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

static void futex(std::atomic<uint32_t> &word, int operation, uint32_t value) {
  syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, nullptr,
          nullptr, 0);
}

ThreadPool::ThreadPool(unsigned threads)
    : workers(threads > 1 ? threads - 1 : 0), gate(closedBit) {
  caller.args.resize(maxArguments + 1);
  for (Worker &w : workers) {
    w.args.resize(maxArguments + 1);
    w.thread = std::thread([this, &w] { work(w); });
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(callers);
    stopping = true;
    // An empty launch: workers that join it see `stopping` and exit.
    uint64_t number = (gate.load() >> numberShift) + 1;
    gate.store(number << numberShift);
    wake.fetch_add(1);
    futex(wake, FUTEX_WAKE, INT32_MAX);
  }
  for (Worker &w : workers)
    w.thread.join();
  for (Worker &w : workers)
    free(w.scratch);
  free(caller.scratch);
}

Status ThreadPool::reserveScratch(uint64_t bytes) {
  std::lock_guard lock(callers);
  if (bytes <= scratchSize)
    return ok();
  uint64_t rounded = (bytes + 4095) / 4096 * 4096;
  // Workers read `scratch` only during a launch, and holding `callers` excludes
  // launches.
  auto grow = [&](Worker &w) {
    auto *p = static_cast<uint8_t *>(std::aligned_alloc(4096, rounded));
    if (!p)
      return false;
    free(w.scratch);
    w.scratch = p;
    return true;
  };
  bool fits = grow(caller);
  for (Worker &w : workers)
    fits = fits && grow(w);
  if (!fits)
    return Error{"cannot allocate " + std::to_string(rounded) +
                     " bytes of scratch for each of " +
                     std::to_string(threads()) + " threads",
                 ""};
  scratchSize = rounded;
  return ok();
}

void ThreadPool::forEachScratch(
    const std::function<void(uint8_t *, uint64_t)> &visit) {
  std::lock_guard lock(callers);
  if (!scratchSize)
    return;
  visit(caller.scratch, scratchSize);
  for (Worker &w : workers)
    visit(w.scratch, scratchSize);
}

// Takes chunks of blocks until none are left. A kernel with scratch gets it as
// one more argument, a different one in each thread.
void ThreadPool::runBlocks(Worker &self) {
  void *const *args = job.args;
  if (job.scratchBytes > 0) {
    std::memcpy(self.args.data(), args, job.argCount * sizeof(void *));
    self.args[job.argCount] = self.scratch;
    args = self.args.data();
  }
  for (;;) {
    uint64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
    if (begin >= job.grid)
      return;
    uint64_t end = begin + chunk < job.grid ? begin + chunk : job.grid;
    for (uint64_t block = begin; block < end; ++block)
      job.kernel(args, static_cast<int64_t>(block));
  }
}

// A worker spins for a while, because launches of a step follow each other
// closely, and then sleeps until `wake` changes.
void ThreadPool::work(Worker &self) {
  uint64_t done = 0; // the number of the last launch this worker has seen
  // True when there is a launch to join; joins it.
  auto join = [&]() -> bool {
    uint64_t g = gate.load(std::memory_order_seq_cst);
    while (g >> numberShift != done && !(g & closedBit))
      if (gate.compare_exchange_weak(g, g + 1, std::memory_order_acq_rel)) {
        done = g >> numberShift;
        return true;
      }
    return false;
  };
  for (;;) {
    bool joined = join();
    for (int i = 0; !joined && i < spins; ++i) {
      relax();
      joined = join();
    }
    if (!joined) {
      // The caller publishes, then checks for sleepers; a worker announces its
      // sleep, then checks for a launch. So at least one sees the other.
      uint32_t w = wake.load(std::memory_order_seq_cst);
      sleepers.fetch_add(1, std::memory_order_seq_cst);
      joined = join();
      if (!joined)
        futex(wake, FUTEX_WAIT, w);
      sleepers.fetch_sub(1, std::memory_order_seq_cst);
      if (!joined)
        continue;
    }
    if (stopping)
      return;
    runBlocks(self);
    left.fetch_add(1, std::memory_order_release);
  }
}

// The job is written while the gate is closed and no worker is left in the last
// launch. Opening the gate publishes it.
Status ThreadPool::run(const HostLaunch &launch) {
  std::lock_guard lock(callers);
  if (launch.argCount > maxArguments)
    return Error{"a launch has " + std::to_string(launch.argCount) +
                     " arguments, at most " + std::to_string(maxArguments) +
                     " are possible",
                 ""};
  if (launch.scratchBytes > scratchSize)
    return Error{"a launch needs " + std::to_string(launch.scratchBytes) +
                     " bytes of scratch per thread, " +
                     std::to_string(scratchSize) + " are reserved",
                 ""};
  job = launch;
  // Few blocks are handed out one by one to balance uneven ones. Many small
  // ones are handed out in runs, so that the counter is not contended.
  chunk = launch.grid / (uint64_t{64} * threads());
  chunk = chunk < 1 ? 1 : chunk;
  next.store(0, std::memory_order_relaxed);
  if (launch.grid <= 1 || workers.empty()) {
    runBlocks(caller);
    return ok();
  }
  left.store(0, std::memory_order_relaxed);
  uint64_t number = (gate.load(std::memory_order_relaxed) >> numberShift) + 1;
  gate.store(number << numberShift, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) > 0) {
    wake.fetch_add(1, std::memory_order_seq_cst);
    futex(wake, FUTEX_WAKE,
          launch.grid < workers.size() ? uint32_t(launch.grid - 1) : INT32_MAX);
  }
  runBlocks(caller);
  uint64_t entrants =
      gate.fetch_or(closedBit, std::memory_order_acq_rel) & entrantMask;
  for (int i = 0; left.load(std::memory_order_acquire) != entrants; ++i) {
    if (i < 20000)
      relax();
    else
      std::this_thread::yield();
  }
  return ok();
}
