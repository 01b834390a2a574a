// SPDX-License-Identifier: Apache-2.0
//
// A kernel on a device of the C interface, with its arrays.
#include "tools/act-run/OpenKernel.h"
#include <cstring>
#include <utility>

using namespace act;
using namespace act::run;
using simtool::Argument;

Status run::check(actrt_status status) {
  if (status == ACTRT_SUCCESS)
    return ok();
  return Error{actrt_last_error(), ""};
}

OpenKernel::~OpenKernel() {
  if (stream)
    actrt_stream_release(stream);
  if (function)
    actrt_function_release(function);
  if (module)
    actrt_module_release(module);
  if (device)
    actrt_device_release(device);
}

Status OpenKernel::openDevice(const std::string &name, uint32_t threads) {
  actrt_device_options options{};
  options.struct_size = sizeof options;
  options.threads = threads;
  return check(actrt_device_open(name.c_str(), &options, &device));
}

Status OpenKernel::load(std::string_view code, uint32_t flags,
                        const std::string &name) {
  if (auto s = check(
          actrt_module_load(device, code.data(), code.size(), flags, &module));
      !s)
    return s;
  if (auto s = check(actrt_function_get(module, name.c_str(), &function)); !s)
    return s;
  return check(actrt_stream_create(device, &stream));
}

Status OpenKernel::place(std::vector<Argument> &arguments) {
  auto one = [&](Argument &a) -> Status {
    if (auto s = simtool::readArray(a); !s)
      return s;
    size_t bytes = a.array.bytes.size();
    if (auto s = check(actrt_allocate(device, bytes, &a.address)); !s)
      return s;
    a.value.resize(8);
    std::memcpy(a.value.data(), &a.address, 8);
    if (bytes == 0)
      return ok();
    return check(a.kind == Argument::Out
                     ? actrt_fill(stream, a.address, 0xff, bytes)
                     : actrt_copy(stream, a.address, a.array.bytes.data(),
                                  bytes, ACTRT_HOST_TO_DEVICE));
  };
  for (Argument &a : arguments)
    if (a.isArray())
      if (auto s = one(a); !s)
        return Error{"--arg " + a.text + ": " + s.error().str(), ""};
  return check(actrt_stream_synchronize(stream));
}

Status OpenKernel::fetch(std::vector<Argument> &arguments) {
  for (Argument &a : arguments) {
    if (!a.isWritten())
      continue;
    size_t bytes = a.array.bytes.size();
    void *from = std::exchange(a.address, a.array.bytes.data());
    if (bytes == 0)
      continue;
    if (auto s = check(
            actrt_copy(stream, a.address, from, bytes, ACTRT_DEVICE_TO_HOST));
        !s)
      return s;
  }
  return check(actrt_stream_synchronize(stream));
}
