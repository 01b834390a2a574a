// SPDX-License-Identifier: Apache-2.0
//
// Checks the limits that every GPU sets for a launch before the device sees it:
// a driver would only say "invalid value".
//
// Sizes: CUDA C++ Programming Guide, "Compute Capabilities".
#ifndef ACT_RUNTIME_LAUNCHRULES_H
#define ACT_RUNTIME_LAUNCHRULES_H
#include "runtime/Executor.h"

namespace act::runtime {

inline constexpr const char *refusalPrefix = "launch: ";

/// An error unless a kernel with these attributes can be launched in this
/// shape.
Status checkLaunch(const DeviceInfo &device, const KernelAttributes &kernel,
                   const LaunchShape &shape);

/// Blocks of a cluster of such a launch, along x; 1 without clusters.
uint32_t clusterAlongX(const KernelAttributes &kernel,
                       const LaunchShape &shape);

/// How many blocks of a persistent launch start, of a grid of so many: those
/// that run at once, but whole clusters, and one at least.
uint64_t residentBlocks(uint64_t atOnce, uint32_t cluster, uint64_t grid);

/// An error if a device runs fewer blocks at once than wait for each other.
Status checkAtOnce(const LaunchShape &shape, uint64_t resident);

/// Whether these rules made the error, so that the caller is at fault.
inline bool isRefusal(const Error &error) {
  return error.message.rfind(refusalPrefix, 0) == 0;
}

/// Packs the arguments' values as the kernel declares its parameters: parameter
/// i has bytes[i] bytes at offsets[i]. An error unless there are as many
/// arguments as parameters, each of the right size.
struct ParameterLayout {
  std::vector<uint32_t> offsets, bytes;
};
Result<std::vector<uint8_t>> packArguments(const ParameterLayout &layout,
                                           const Arguments &arguments);

} // namespace act::runtime
#endif
