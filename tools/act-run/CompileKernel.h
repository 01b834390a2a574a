// SPDX-License-Identifier: Apache-2.0
//
// The second door from act-run to the compiler (see Compile.h): one kernel
// instead of a step.
#ifndef ACT_TOOLS_ACTRUN_COMPILEKERNEL_H
#define ACT_TOOLS_ACTRUN_COMPILEKERNEL_H
#include "act/Result.h"
#include "tools/actrt-sim/CommandLine.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace act::run {

struct KernelOptions {
  std::string target = "sm_80";
  std::string entry;      // empty: the only kernel
  std::string cacheDir;   // empty: the user's; "none"
  std::string blockSizes; // "M=64,K=32", others than those of the file
};

struct Kernel {
  std::string name, ptx;
  uint32_t grid[3] = {0, 0, 0}; // zeros: the kernel does not say
  uint32_t block[3] = {1, 1, 1};
  uint64_t sharedBytes = 0; // dynamic
  /// None where PTX has others than the kernel: of descriptors of memory.
  std::optional<std::vector<simtool::Parameter>> parameters;
};

/// Compiles a kernel of a .mlir file to PTX.
Result<Kernel> compileKernel(const std::string &path,
                             const KernelOptions &options);

/// The grid to launch, "8,4,1": `given`, or what the kernel says (tile.grid),
/// or one program. Fails if both are there and differ.
Result<std::string> gridOf(const uint32_t kernels[3], const std::string &given);

/// A kernel on blocks as native code; passes/tile-to-host says how it is
/// called.
struct NativeKernel {
  std::string name;
  std::vector<uint8_t> sharedObject;
  uint32_t grid[3] = {0, 0, 0}; // zeros: the kernel does not say
  uint64_t scratchBytes = 0;
  std::vector<simtool::Parameter> parameters;
  std::vector<std::string> checks;
};

/// Compiles a kernel of a .mlir file for this machine.
Result<NativeKernel> compileKernelForHost(const std::string &path,
                                          const KernelOptions &options);

} // namespace act::run
#endif
