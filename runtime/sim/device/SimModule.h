// SPDX-License-Identifier: Apache-2.0
//
// Modules and kernels of a simulator.
#ifndef ACT_RUNTIME_SIM_DEVICE_SIMMODULE_H
#define ACT_RUNTIME_SIM_DEVICE_SIMMODULE_H
#include "runtime/LaunchRules.h"
#include "runtime/sim/device/SimQueues.h"
#include <map>
#include <mutex>

namespace act::runtime {

class SimKernel : public Kernel {
public:
  SimKernel(const sim::LoadedModule &module, sim::KernelInfo info);
  KernelAttributes attributes() const override { return facts; }

  const sim::LoadedModule &module;
  const std::string name;
  KernelAttributes facts;
  ParameterLayout layout;
};

class SimModule : public Module {
public:
  SimModule(SimQueues &device, std::unique_ptr<sim::LoadedModule> module)
      : device(device), module(std::move(module)) {}
  /// First finishes all streams, which may run kernels of this module.
  ~SimModule() override;
  Result<Kernel *> kernel(const std::string &symbol) override;
  Result<Variable> variable(const std::string &symbol) override;

private:
  SimQueues &device;
  std::unique_ptr<sim::LoadedModule> module;
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<SimKernel>> kernels;
};

} // namespace act::runtime
#endif
