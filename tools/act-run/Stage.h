// SPDX-License-Identifier: Apache-2.0
//
// Shows slow work before a run's first step, on standard error: a line after
// one second and then every ten seconds; on a terminal, one line that redraws
// itself and disappears.
//
//   initialising parameters: 2.31 of 4.94 GB
#ifndef ACT_TOOLS_ACTRUN_STAGE_H
#define ACT_TOOLS_ACTRUN_STAGE_H
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace act::run {

class Stage {
public:
  /// `bytes`: the total work; 0: unknown.
  explicit Stage(std::string what, uint64_t bytes = 0);
  ~Stage();
  Stage(const Stage &) = delete;
  void advance(uint64_t bytes) { done += bytes; }
  double seconds() const;

private:
  using Clock = std::chrono::steady_clock;
  void watch();
  void say(bool terminal) const;

  const std::string what;
  const uint64_t bytes;
  const Clock::time_point start = Clock::now();
  std::atomic<uint64_t> done{0};
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  std::thread watcher;
};

} // namespace act::run
#endif
