// SPDX-License-Identifier: Apache-2.0
//
// Modules and kernels of the simulator as the runtime's interface wants them.
#include "runtime/sim/device/SimModule.h"

using namespace act;
using namespace act::runtime;

SimKernel::SimKernel(const sim::LoadedModule &module, sim::KernelInfo info)
    : module(module), name(info.name) {
  facts.maxThreadsPerBlock = info.maxThreads;
  facts.registers = info.registers;
  facts.sharedBytes = info.sharedBytes;
  facts.localBytes = info.localBytes;
  std::copy(info.requiredBlock, info.requiredBlock + 3, facts.requiredBlock);
  std::copy(info.requiredCluster, info.requiredCluster + 3,
            facts.requiredCluster);
  for (const auto &p : info.parameters) {
    layout.offsets.push_back(static_cast<uint32_t>(p.offset));
    layout.bytes.push_back(static_cast<uint32_t>(p.bytes));
  }
}

SimModule::~SimModule() { device.finishAll(); }

Result<Kernel *> SimModule::kernel(const std::string &symbol) {
  std::lock_guard lock(mutex);
  auto &slot = kernels[symbol];
  if (!slot) {
    auto info = module->kernel(symbol);
    if (!info) {
      kernels.erase(symbol);
      return info.error();
    }
    info->name = symbol;
    slot = std::make_unique<SimKernel>(*module, std::move(*info));
  }
  return slot.get();
}

Result<Module::Variable> SimModule::variable(const std::string &symbol) {
  auto s = module->symbol(symbol);
  if (!s)
    return s.error();
  return Variable{s->address, s->bytes};
}
