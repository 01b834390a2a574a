// SPDX-License-Identifier: Apache-2.0
#include "passes/emit/StepKernels.h"
#include "passes/kernel-cache/KernelCache.h"
#include "passes/lower-groups/LowerGroups.h"

using namespace mlir;
using namespace act;

void StepKernels::add(ModuleOp module, const Program &program) {
  ModuleOp functions = kernelsOf(module);
  for (const FlatLaunch &launch : program.launches) {
    // The runtime copies by itself (artifact::copyKernel).
    if (launch.copy != Copy::None)
      continue;
    std::vector<int64_t> inPlace = inPlaceOf(launch, program);
    GroupOp group = launch.group;
    auto [it, fresh] = launches.insert({{group, inPlace}, {}});
    if (!fresh)
      continue;
    it->second = act::launchesOf(group, inPlace);
    for (LaunchOp op : it->second) {
      if (!numbers.insert({op.getKernel(), uint32_t(kernels.size())}).second)
        continue;
      auto function = functions.lookupSymbol<func::FuncOp>(
          op.getKernel().getLeafReference());
      kernels.push_back(
          {function, textForKey(function), group, aboutKernel(op, function)});
    }
  }
}

const SmallVector<LaunchOp> &
StepKernels::launchesOf(const FlatLaunch &launch,
                        const Program &program) const {
  return launches.at({launch.group, inPlaceOf(launch, program)});
}

uint32_t StepKernels::numberOf(LaunchOp launch) const {
  return numbers.at(launch.getKernel());
}
