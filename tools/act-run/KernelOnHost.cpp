// SPDX-License-Identifier: Apache-2.0
//
// Runs a kernel's host form, one program after the other, for debugging.
#include "tools/act-run/CompileKernel.h"
#include "tools/act-run/OpenKernel.h"
#include "tools/act-run/Options.h"
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

using namespace act;
using namespace act::run;
using simtool::Argument;

namespace {

/// The context of passes/tile-to-host/HostContext.h.
std::vector<uint64_t> makeContext(const uint32_t grid[3], FILE *out,
                                  uint64_t steps,
                                  const std::vector<Argument> &given) {
  std::vector<uint64_t> words(7 + given.size());
  for (int i = 0; i < 3; ++i)
    words[i] = grid[i];
  words[5] = reinterpret_cast<uint64_t>(out);
  words[6] = steps;
  for (size_t i = 0; i < given.size(); ++i)
    words[7 + i] = given[i].isArray() ? given[i].array.bytes.size() : 0;
  return words;
}

/// Pointer arguments that are not arrays are passed as numbers: they may be
/// null.
Status launch(OpenKernel &host, const NativeKernel &kernel,
              const uint32_t grid[3], std::vector<Argument> &given,
              std::vector<uint64_t> &context) {
  void *words = nullptr;
  size_t bytes = context.size() * sizeof(uint64_t);
  if (auto s = check(actrt_allocate(host.device, bytes, &words)); !s)
    return s;
  std::memcpy(words, context.data(), bytes);
  std::vector<actrt_argument> arguments(given.size() + 1);
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i].isArray()) {
      arguments[i].kind = ACTRT_POINTER;
      arguments[i].value.pointer = given[i].address;
      continue;
    }
    given[i].value.resize(8); // a whole slot
    arguments[i].kind = ACTRT_BYTES;
    arguments[i].bytes = 8;
    arguments[i].value.pointer = given[i].value.data();
  }
  arguments.back().kind = ACTRT_POINTER;
  arguments.back().value.pointer = words;
  actrt_launch_shape shape{};
  shape.struct_size = sizeof shape;
  std::copy(grid, grid + 3, shape.grid);
  shape.scratch_bytes = kernel.scratchBytes;
  auto done = check(actrt_launch(host.function, host.stream, &shape,
                                 arguments.data(), arguments.size()));
  if (done)
    done = check(actrt_stream_synchronize(host.stream));
  std::memcpy(context.data(), words, bytes);
  return done;
}

/// Word 3 is 0, or one more than the number of the check that failed; negative
/// if the run was stopped.
bool isStopped(const std::vector<uint64_t> &context) {
  return int64_t(context[3]) < 0;
}

std::string failureOf(const NativeKernel &kernel, const uint32_t grid[3],
                      uint64_t steps, const std::vector<uint64_t> &context) {
  bool stopped = isStopped(context);
  uint64_t which = (stopped ? -context[3] : context[3]) - 1,
           program = context[4];
  std::string place = "(" + std::to_string(program % grid[0]) + "," +
                      std::to_string(program / grid[0] % grid[1]) + "," +
                      std::to_string(program / grid[0] / grid[1]) + ")";
  std::string after;
  if (stopped)
    after = " after " + std::to_string(steps) + " instructions";
  return kernel.checks[which] + after + ", in program " + place;
}

} // namespace

int run::kernelOnHost(const Options &o, const KernelOptions &options) {
  auto kernel = compileKernelForHost(o.file, options);
  if (!kernel)
    return fail(kernel.error().str());
  uint32_t grid[3] = {1, 1, 1};
  auto asked = gridOf(kernel->grid, o.launch.grid);
  if (!asked)
    return fail(asked.error().str());
  if (auto s = simtool::parseDimensions("--grid", *asked, grid); !s)
    return fail(s.error().str());
  auto parsed = simtool::parseArguments(o.launch.arguments);
  if (!parsed)
    return fail(parsed.error().str());
  std::vector<Argument> &arguments = *parsed;
  OpenKernel host;
  auto &code = kernel->sharedObject;
  auto opened = host.openDevice("host", 1); // one thread: programs in order
  if (opened)
    opened =
        host.load({reinterpret_cast<const char *>(code.data()), code.size()},
                  ACTRT_ALLOW_NATIVE, kernel->name);
  if (opened)
    opened = host.place(arguments);
  if (!opened)
    return fail(opened.error().str());
  if (auto s =
          simtool::checkArguments(kernel->name, kernel->parameters, arguments);
      !s)
    return fail(s.error().str());
  // No limit: a count that no run reaches.
  uint64_t steps = o.launch.maximumInstructions;
  if (steps == 0 || steps > uint64_t(INT64_MAX))
    steps = INT64_MAX;
  // Output of the kernel's prints would break the JSON.
  std::vector<uint64_t> context =
      makeContext(grid, o.launch.json ? stderr : stdout, steps, arguments);
  if (auto s = launch(host, *kernel, grid, arguments, context); !s)
    return fail(s.error().str());
  bool failed = context[3] != 0;
  if (!failed) {
    if (auto s = host.fetch(arguments); !s)
      return fail(s.error().str());
    if (auto s = simtool::writeBack(arguments); !s)
      return fail(s.error().str());
    simtool::tellDropped("act-run", kernel->name, kernel->parameters,
                         arguments);
  }
  std::string finding = failed ? failureOf(*kernel, grid, steps, context) : "";
  if (o.launch.json) {
    nlohmann::ordered_json j;
    j["kernel"] = kernel->name;
    j["target"] = "host";
    j["grid"] = grid;
    j["findings"] = nlohmann::json::array();
    if (failed)
      j["findings"].push_back({{"message", finding}});
    printf("%s\n",
           j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
               .c_str());
  } else {
    printf("%s on host, grid %ux%ux%u\n", kernel->name.c_str(), grid[0],
           grid[1], grid[2]);
  }
  fflush(stdout);
  if (!failed)
    return 0;
  fail(finding);
  return isStopped(context) ? 1 : 2; // as on the simulator
}
