// SPDX-License-Identifier: Apache-2.0
#include "act/Parallel/Parallel.h"
#include "runtime/Executor.h"
#include "runtime/cuda/CudaExecutor.h"
#include "runtime/host/HostExecutor.h"
#include "runtime/sim/device/SimExecutor.h"

using namespace act;
using namespace act::runtime;

Result<std::shared_ptr<Executor>>
runtime::openDevice(const std::string &name, const DeviceOptions &options) {
  if (name == "host") {
    if (options.threads > 1024)
      return Error{"device host with " + std::to_string(options.threads) +
                       " threads, expected at most 1024",
                   ""};
    return std::shared_ptr<Executor>(std::make_shared<HostExecutor>(
        options.threads ? options.threads : availableCores()));
  }
  std::string kind = name.substr(0, name.find(':'));
  if (kind == "sim" && name.size() > 4)
    return SimExecutor::open(name.substr(4), options);
  if (kind == "cuda")
    return cuda::CudaExecutor::open(name);
  return Error{
      "unknown device '" + name + "', expected host, cuda:N or sim:sm_XX", ""};
}
