// SPDX-License-Identifier: Apache-2.0
//
// act-run kernel: chooses where a kernel runs.
#include "tools/act-run/CompileKernel.h"
#include "tools/act-run/Options.h"
#include "tools/actrt-sim/Arguments.h"
#include <algorithm>

using namespace act;
using namespace act::run;

static std::string dimensions(const uint32_t size[3]) {
  return std::to_string(size[0]) + "," + std::to_string(size[1]) + "," +
         std::to_string(size[2]);
}

Result<std::string> run::gridOf(const uint32_t kernels[3],
                                const std::string &given, bool persistent) {
  std::string own = dimensions(kernels);
  if (given.empty())
    return kernels[0] ? own : "1";
  uint32_t grid[3] = {1, 1, 1};
  if (auto s = simtool::parseDimensions("--grid", given, grid); !s)
    return s.error();
  if (persistent && grid[0] && grid[0] <= kernels[0] && grid[1] == 1 &&
      grid[2] == 1)
    return given;
  if (kernels[0] && !std::equal(grid, grid + 3, kernels))
    return Error{
        "the kernel has tile.grid = " + own +
            ", for which its accesses are proven to be in bounds; found " +
            given,
        "--grid"};
  return given;
}

int run::kernel(const Options &o) {
  KernelOptions options;
  options.entry = o.launch.kernel;
  options.cacheDir = o.cacheDir;
  options.blockSizes = o.blockSizes;
  if (!o.target.empty())
    options.target = o.target;
  if (o.simulator == "host")
    return kernelOnHost(o, options);
  bool isNamed = o.simulator.rfind("sim:", 0) == 0;
  if (o.simulator != "sim" && !isNamed)
    return kernelOnCard(o, options);
  auto kernel = compileKernel(o.file, options);
  if (!kernel)
    return fail(kernel.error().str());
  simtool::CommandLine line = o.launch;
  line.file = o.file;
  line.target = isNamed ? o.simulator.substr(4) : options.target;
  line.kernel = kernel->name;
  line.block = dimensions(kernel->block);
  line.sharedBytes = kernel->sharedBytes;
  line.atOnce = kernel->atOnce;
  // A few programs of a persistent kernel, so that each does several: whole
  // clusters.
  if (kernel->persistent && line.grid.empty()) {
    const uint32_t cluster = std::max(1u, kernel->cluster),
                   few = std::max(1u, 3 / cluster) * cluster;
    line.grid = std::to_string(std::min(kernel->grid[0], few));
  }
  auto grid = gridOf(kernel->grid, line.grid, kernel->persistent);
  if (!grid)
    return fail(grid.error().str());
  line.grid = *grid;
  return simtool::run(line, kernel->ptx,
                      kernel->parameters ? &*kernel->parameters : nullptr);
}
