// SPDX-License-Identifier: Apache-2.0
//
// One kernel on a device of the runtime, and what it is launched with.
#ifndef ACT_TOOLS_ACTRUN_OPENKERNEL_H
#define ACT_TOOLS_ACTRUN_OPENKERNEL_H
#include "act-c/Runtime.h"
#include "tools/actrt-sim/Arguments.h"
#include <string>

namespace act::run {

/// A call of the C interface that failed, with its message.
Status check(actrt_status status);

/// A device with one module and one stream; memory goes with the device.
struct OpenKernel {
  actrt_device device = nullptr;
  actrt_module module = nullptr;
  actrt_function function = nullptr;
  actrt_stream stream = nullptr;

  OpenKernel() = default;
  OpenKernel(const OpenKernel &) = delete;
  OpenKernel &operator=(const OpenKernel &) = delete;
  ~OpenKernel();

  /// `threads`: of the host; 0: one per core.
  Status openDevice(const std::string &name, uint32_t threads = 0);
  /// `code`: as actrt_module_load takes it, with these flags.
  Status load(std::string_view code, uint32_t flags, const std::string &name);

  /// Reads the files, and gives arrays memory. What nobody has written is NaN,
  /// as on the simulator.
  Status place(std::vector<simtool::Argument> &arguments);
  /// Arrays that are written come back: their addresses are then the host's.
  Status fetch(std::vector<simtool::Argument> &arguments);
};

} // namespace act::run
#endif
