// SPDX-License-Identifier: Apache-2.0
#include "tools/act-run/Target.h"
#include "act-c/Runtime.h"
#include <cstdlib>

using namespace act;

Result<std::string> run::targetFor(const std::string &device,
                                   const std::string &architecture) {
  unsigned long sm = architecture.rfind("sm_", 0) == 0
                         ? std::strtoul(architecture.c_str() + 3, nullptr, 10)
                         : 0;
  if (sm < 80)
    return Error{"device '" + device + "' is " + architecture +
                     ", kernels are made for sm_80 and later",
                 ""};
  return std::string(architecture == "sm_90a" ? "sm_90a"
                     : sm >= 89               ? "sm_89"
                     : sm >= 86               ? "sm_86"
                                              : "sm_80");
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
