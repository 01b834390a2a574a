// SPDX-License-Identifier: Apache-2.0
//
// act-run's interface to the compiler. Compile.cpp implements it if the build
// includes the compiler; otherwise CompileUnavailable.cpp reports an error.
#ifndef ACT_TOOLS_ACTRUN_COMPILE_H
#define ACT_TOOLS_ACTRUN_COMPILE_H
#include "act/Artifact/Step.h"
#include "act/Result.h"
#include <string>

namespace act::run {

struct CompileOptions {
  std::string device = "host"; // that will run it; determines the target
  std::string target = "host"; // host, or a GPU's such as sm_80
  std::string wants = "train"; // "train": step (and eval); "infer": forward
  std::string optimizer;       // adamw, sgd, or empty: the module's
  unsigned microBatches = 0;   // 0: the module's, or one
  std::string lossAverage;     // labels, micro-batches, or empty: the module's
  unsigned threads = 0;        // 0: one per core
};

/// Compiles a .mlir file of any stage to a step.
Result<artifact::Step> compileModule(const std::string &path,
                                     const CompileOptions &options);

/// Advice, in one or more lines: the policies under which the step, which now
/// needs `needed` bytes, fits in `free`.
std::string whatWouldFit(const std::string &path, const CompileOptions &options,
                         uint64_t needed, uint64_t free);

} // namespace act::run
#endif
