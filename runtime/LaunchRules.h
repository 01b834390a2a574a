// SPDX-License-Identifier: Apache-2.0
//
// What every GPU asks of a launch, said before the device is asked: a driver
// answers "invalid value", these are sentences.
//
// Sizes: CUDA C++ Programming Guide, "Compute Capabilities".
#ifndef ACT_RUNTIME_LAUNCHRULES_H
#define ACT_RUNTIME_LAUNCHRULES_H
#include "runtime/Executor.h"

namespace act::runtime {

inline constexpr const char *refusalPrefix = "launch: ";

/// An error unless a kernel with these attributes can be launched so.
Status checkLaunch(const DeviceInfo &device, const KernelAttributes &kernel,
                   const LaunchShape &shape);

/// Is it an error of these rules, that is of who asks?
inline bool isRefusal(const Error &error) {
  return error.message.rfind(refusalPrefix, 0) == 0;
}

/// Copies the arguments' values behind one another as the kernel declares them:
/// parameter i has bytes[i] of them at offsets[i]. An error unless there are as
/// many arguments as parameters, each of the right size.
struct ParameterLayout {
  std::vector<uint32_t> offsets, bytes;
};
Result<std::vector<uint8_t>> packArguments(const ParameterLayout &layout,
                                           const Arguments &arguments);

} // namespace act::runtime
#endif
