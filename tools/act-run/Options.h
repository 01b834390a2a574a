// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_TOOLS_ACTRUN_OPTIONS_H
#define ACT_TOOLS_ACTRUN_OPTIONS_H
#include "tools/actrt-sim/CommandLine.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace act::run {

/// The parsed command line. Options that a command does not have keep their
/// defaults.
struct Options {
  std::string file, device = "host";
  std::vector<std::string> init; // files, folders, indexes
  unsigned threads = 0;
  bool allowNative = false, debug = false, measure = false, times = false,
       anyMemory = false;
  std::string measureJson, timesJson;
  std::optional<uint64_t> seed;
  // train
  std::string data, tokens, labels, segments, pack, optimizer, log, save,
      resume, dumpGradients;
  uint64_t steps = 0, evalEvery = 0, saveEvery = 0;
  int64_t packLength = 0;
  unsigned microBatches = 0; // 0: the module's, or one
  std::string lossAverage;   // labels, micro-batches; empty: the module's
  double learningRate = 0;
  bool logTimes = false, saveWhole = false;
  uint64_t maxShardBytes = 5'000'000'000;
  // infer
  std::string attentionMask, out;
  // generate
  std::string prompt;
  uint64_t count = 0;
  double temperature = 0;
  uint64_t topK = 0;
  // kernel
  simtool::CommandLine launch;
  std::string target; // empty: the device's; sm_80 for plain "sim"
  std::string simulator = "sim", cacheDir, blockSizes;
};

int train(const Options &options);
int infer(const Options &options);
int generate(const Options &options);
/// 2: a check of the simulator or of the kernel itself found something.
int kernel(const Options &options);
struct KernelOptions;
/// The same on the CPU, for a kernel on blocks.
int kernelOnHost(const Options &options, const KernelOptions &kernel);
/// The same on a device of the runtime, such as cuda:0.
int kernelOnCard(const Options &options, const KernelOptions &kernel);

/// Prints "act-run: error: MESSAGE" and returns 1.
int fail(const std::string &message);

} // namespace act::run
#endif
