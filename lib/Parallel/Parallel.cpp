// SPDX-License-Identifier: Apache-2.0
//
// Loops over all cores for work that takes milliseconds or more. Kernels use
// the pool of runtime/host instead, which starts in microseconds.
#include "act/Parallel/Parallel.h"
#include <algorithm>
#include <atomic>
#include <sched.h>
#include <system_error>
#include <thread>
#include <vector>

unsigned act::availableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return n < 1 ? 1u : static_cast<unsigned>(n);
}

void act::parallelFor(unsigned threads, uint64_t count,
                      const std::function<void(uint64_t)> &turn) {
  uint64_t most =
      std::min<uint64_t>(threads ? threads : availableCores(), count);
  std::atomic<uint64_t> next{0};
  auto work = [&] {
    for (uint64_t i;
         (i = next.fetch_add(1, std::memory_order_relaxed)) < count;)
      turn(i);
  };
  std::vector<std::thread> others;
  try {
    while (others.size() + 1 < most)
      others.emplace_back(work);
  } catch (const std::system_error &) {
    // The thread limit is reached: the threads that exist do all the work.
  }
  work();
  for (std::thread &t : others)
    t.join();
}

void act::parallelPieces(
    unsigned threads, uint64_t n, uint64_t piece,
    const std::function<void(uint64_t first, uint64_t count)> &turn) {
  parallelFor(threads, n / piece + (n % piece != 0), [&](uint64_t i) {
    turn(i * piece, std::min(piece, n - i * piece));
  });
}
