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
