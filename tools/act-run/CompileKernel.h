// SPDX-License-Identifier: Apache-2.0
//
// The second door from act-run to the compiler (see Compile.h): one kernel
// instead of a step.
#ifndef ACT_TOOLS_ACTRUN_COMPILEKERNEL_H
#define ACT_TOOLS_ACTRUN_COMPILEKERNEL_H
#include "act/Result.h"
#include "tools/actrt-sim/CommandLine.h"
#include <cstdint>
#include <string>
#include <vector>

namespace act::run {

struct KernelOptions {
  std::string target = "sm_80";
  std::string entry;    // empty: the only kernel
  std::string cacheDir; // empty: the user's; "none"
};

struct Kernel {
  std::string name, ptx;
  uint32_t grid[3] = {0, 0, 0}; // zeros: the kernel does not say
  uint32_t block[3] = {1, 1, 1};
  uint64_t sharedBytes = 0; // dynamic
  std::vector<simtool::Extent> parameters;
};

/// Compiles a kernel of a .mlir file to PTX.
Result<Kernel> compileKernel(const std::string &path,
                             const KernelOptions &options);

} // namespace act::run
#endif
