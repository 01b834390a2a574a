// SPDX-License-Identifier: Apache-2.0
//
// The interface of a launch: what the kernel needs, what the caller asks for,
// and what the simulator returns.
#ifndef ACT_RUNTIME_SIM_PROGRAM_LAUNCHREQUEST_H
#define ACT_RUNTIME_SIM_PROGRAM_LAUNCHREQUEST_H
#include "runtime/sim/program/Counters.h"
#include "runtime/sim/program/Finding.h"
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace act::runtime::sim {

struct Options {
  bool checks = true;
  /// Whether reading memory that was never written, or storing an undefined
  /// value, is a finding. If not, both propagate the undefined value, and only
  /// its use is a finding: as an address, in control flow, at a barrier, by the
  /// host.
  bool strict = false;
  /// Whether additions of floats to the same place race unless something orders
  /// them: if not, the last bits of the sum may differ between runs.
  bool orderedSums = false;
  /// Draws the order of warps and CTAs and the times of asynchronous
  /// operations. With `drawsRounding` it also draws the errors of approximate
  /// functions and how tensor cores sum. 0: everything as early as possible, in
  /// order, correctly rounded.
  uint64_t seed = 0;
  bool drawsRounding = true;
  uint64_t maximumInstructions = 0; // warp instructions per launch; 0: no limit
  unsigned threads = 0;             // 0: one per core
  /// Receives the output of printf and assert in kernels; empty: stdout and
  /// stderr.
  std::function<void(std::string_view)> print;
  size_t maximumFindings = 100;
};

/// A kernel's resources, known once it is decoded.
struct KernelInfo {
  std::string name;
  uint64_t parameterBytes = 0, sharedBytes = 0, localBytes = 0;
  uint32_t registers = 0; // 32-bit registers live at once, an estimate
  /// Where setmaxnreg moves registers between warps: how many a thread begins
  /// with, and the most that one asks for.
  uint32_t registersAtEntry = 0, mostRegisters = 0;
  uint32_t maxThreads = 1024;
  /// Its .maxntid bounds a block, and no .reqntid says what it is.
  bool boundsBlock = false;
  uint32_t requiredBlock[3] = {0, 0, 0}, requiredCluster[3] = {0, 0, 0};
  struct Parameter {
    uint64_t offset, bytes;
    uint32_t align;
  };
  std::vector<Parameter> parameters;
};

struct LaunchRequest {
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, cluster[3] = {0, 0, 0};
  uint64_t dynamicSharedBytes = 0;
  bool cooperative = false;
  /// So many CTAs, one after the other in the order in which they begin, may
  /// wait for each other.
  uint32_t atOnce = 0;
  /// The parameter block as the kernel sees it: every parameter at its offset.
  std::vector<uint8_t> parameters;
};

struct LaunchReport {
  std::vector<Finding> findings; // of this launch, most severe class first
  Counters counters;
  /// Warp instructions after which it was stopped (Options); 0: it completed.
  uint64_t stoppedAfter = 0;
};

} // namespace act::runtime::sim
#endif
