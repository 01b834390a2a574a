// SPDX-License-Identifier: Apache-2.0
//
// One kernel and its arguments on a device of the runtime.
#ifndef ACT_TOOLS_ACTRUN_OPENKERNEL_H
#define ACT_TOOLS_ACTRUN_OPENKERNEL_H
#include "act-c/Runtime.h"
#include "tools/actrt-sim/Arguments.h"
#include <string>

namespace act::run {

/// Turns a failed call of the C interface into an error with its message.
Status check(actrt_status status);

/// A device with one module and one stream; the device frees the memory.
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
  /// `code` and `flags`: as for actrt_module_load.
  Status load(std::string_view code, uint32_t flags, const std::string &name);

  /// Reads the files and allocates the arrays. Unwritten memory is NaN, as on
  /// the simulator.
  Status place(std::vector<simtool::Argument> &arguments);
  /// Copies written arrays back; their addresses are then on the host.
  Status fetch(std::vector<simtool::Argument> &arguments);
};

} // namespace act::run
#endif
