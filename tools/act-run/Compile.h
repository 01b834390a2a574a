// SPDX-License-Identifier: Apache-2.0
//
// The one door from act-run to the compiler. Compile.cpp implements it where
// the compiler is part of the build; CompileUnavailable.cpp says so where it is
// not.
#ifndef ACT_TOOLS_ACTRUN_COMPILE_H
#define ACT_TOOLS_ACTRUN_COMPILE_H
#include "act/Artifact/Step.h"
#include "act/Result.h"
#include <string>

namespace act::run {

struct CompileOptions {
  std::string device = "host"; // that it will run on, which says the
  std::string target = "host"; // target: host, or a GPU's, sm_80
  std::string wants = "train"; // "train": step (and eval); "infer": forward
  std::string optimizer;       // adamw, sgd, or empty: as the module says
  unsigned microBatches = 0;   // 0: as the module says, else one
  std::string lossAverage;     // labels, micro-batches, or empty: likewise
  unsigned threads = 0;        // 0: one per core
};

/// Compiles a .mlir file of any stage to a step.
Result<artifact::Step> compileModule(const std::string &path,
                                     const CompileOptions &options);

/// By which policies the step, which needs `needed` bytes now, would need no
/// more than `free`; as a line or some lines of advice.
std::string whatWouldFit(const std::string &path, const CompileOptions &options,
                         uint64_t needed, uint64_t free);

} // namespace act::run
#endif
