// SPDX-License-Identifier: Apache-2.0
//
// Progress of a run, on standard error: a bar that redraws itself on a
// terminal, an occasional line elsewhere.
//
//   [#########---------------]  190/500  loss 2.3125  41.2k tokens/s  0:12 left
#ifndef ACT_TOOLS_ACTRUN_PROGRESS_H
#define ACT_TOOLS_ACTRUN_PROGRESS_H
#include <chrono>
#include <cstdint>
#include <string>

namespace act::run {

class Progress {
public:
  /// Steps first+1 .. last.
  Progress(uint64_t first, uint64_t last, uint64_t tokensPerStep);
  ~Progress();
  void step(uint64_t step, double loss);
  void note(const std::string &line); // above the bar
  double tokensPerSecond() const;

private:
  using Clock = std::chrono::steady_clock;
  uint64_t first, last, tokens, current;
  Clock::time_point start, drawn;
  bool terminal, open = false;
};

} // namespace act::run
#endif
