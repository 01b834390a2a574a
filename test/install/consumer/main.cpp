// SPDX-License-Identifier: Apache-2.0
//
// Reads a config, plans three buffers and opens the host device: one call into
// each of the installed libraries.
#include "act-c/Runtime.h"
#include "act/HuggingFace/ModelConfig.h"
#include "act/Plan/Solver.h"
#include <cstdio>

int main(int argc, char **argv) {
  auto config = act::hf::load(argc > 1 ? argv[1] : "config.json");
  if (!config) {
    std::puts(config.error().str().c_str());
    return 1;
  }
  std::printf("%lld weights\n",
              static_cast<long long>(act::hf::parameterCount(*config)));

  act::plan::Problem problem;
  problem.buffers = {
      {"a", 512, 0, 2, 1}, {"b", 256, 1, 3, 1}, {"c", 512, 2, 4, 1}};
  auto plan = act::plan::solve(problem);
  if (!plan) {
    std::puts(plan.error().str().c_str());
    return 1;
  }
  std::printf("%lld bytes of arena\n",
              static_cast<long long>(plan->arenaBytes));

  actrt_device device;
  if (actrt_device_open("host", nullptr, &device) ||
      actrt_device_release(device)) {
    std::puts(actrt_last_error());
    return 1;
  }
  return 0;
}
