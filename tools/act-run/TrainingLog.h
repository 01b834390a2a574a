// SPDX-License-Identifier: Apache-2.0
//
// One JSON object per step. Numbers are written in the shortest form that reads
// back as the same double, so equal runs give equal bytes; timings are opt-in.
// A resumed run that names the log of the run it continues keeps the lines up
// to its checkpoint and appends to them.
#ifndef ACT_TOOLS_ACTRUN_TRAININGLOG_H
#define ACT_TOOLS_ACTRUN_TRAININGLOG_H
#include "act/Result.h"
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace act::run {

class TrainingLog {
public:
  TrainingLog() = default;
  TrainingLog(const TrainingLog &) = delete;
  ~TrainingLog();
  /// An empty path logs nothing. Lines of steps after `resumedAt` are dropped;
  /// with 0 the log starts empty. The run that ended there evaluated its last
  /// step. An uninterrupted run would not have done so unless `evaluatedThere`,
  /// so the value is removed then.
  Status open(const std::string &path, uint64_t resumedAt, bool evaluatedThere);
  Status add(uint64_t step, double loss, std::optional<double> tokensPerSecond,
             std::optional<double> valLoss);

private:
  std::string path;
  FILE *file = nullptr;
};

} // namespace act::run
#endif
