// SPDX-License-Identifier: Apache-2.0
//
// act-run's other interface to the compiler (see Compile.h): compiles one
// kernel instead of a step.
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
  std::string blockSizes; // "M=64,K=32", to override those of the file
};

struct Kernel {
  std::string name, ptx;
  uint32_t grid[3] = {0, 0, 0}; // zeros: the kernel gives none
  uint32_t block[3] = {1, 1, 1};
  /// A launch may have fewer programs than the grid, all along x.
  bool persistent = false;
  uint32_t atOnce = 0;      // programs that wait for each other
  uint32_t cluster = 0;     // programs of one, along x; 0: no clusters
  uint64_t sharedBytes = 0; // dynamic
  /// None if the PTX has different parameters: those of memref descriptors.
  std::optional<std::vector<simtool::Parameter>> parameters;
};

/// Compiles a kernel of a .mlir file to PTX.
Result<Kernel> compileKernel(const std::string &path,
                             const KernelOptions &options);

/// The grid to launch, "8,4,1": `given`, or the kernel's own (tile.grid), or
/// one program. An error if both exist and differ; of a persistent kernel, if
/// `given` has more programs.
Result<std::string> gridOf(const uint32_t kernels[3], const std::string &given,
                           bool persistent = false);

/// A kernel on blocks as native code; passes/tile-to-host defines its calling
/// convention.
struct NativeKernel {
  std::string name;
  std::vector<uint8_t> sharedObject;
  uint32_t grid[3] = {0, 0, 0}; // zeros: the kernel gives none
  uint64_t scratchBytes = 0;
  std::vector<simtool::Parameter> parameters;
  std::vector<std::string> checks;
};

/// Compiles a kernel of a .mlir file for this machine.
Result<NativeKernel> compileKernelForHost(const std::string &path,
                                          const KernelOptions &options);

} // namespace act::run
#endif
