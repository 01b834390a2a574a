// SPDX-License-Identifier: Apache-2.0
//
// From a device to the target that the compiler makes kernels for.
#include "tools/act-run/Target.h"
#include "act-c/Runtime.h"
#include "act/Target/Target.h"

using namespace act;

Result<std::string> run::targetFor(const std::string &device,
                                   const std::string &architecture) {
  if (const Target *newest = newestTargetFor(architecture))
    return std::string(newest->name);
  return Error{"device '" + device + "' is " + architecture +
                   ", kernels are made for " + allTargets().front().name +
                   " and later",
               ""};
}

Result<std::string> run::targetOf(const std::string &device) {
  if (device == "host")
    return device;
  actrt_device opened = nullptr;
  if (actrt_device_open(device.c_str(), nullptr, &opened) != ACTRT_SUCCESS)
    return Error{actrt_last_error(), ""};
  actrt_device_info info{};
  info.struct_size = sizeof info;
  actrt_status status = actrt_device_query(opened, &info);
  std::string message = status == ACTRT_SUCCESS ? "" : actrt_last_error();
  actrt_device_release(opened);
  if (status != ACTRT_SUCCESS)
    return Error{message, ""};
  return targetFor(device, info.target);
}
