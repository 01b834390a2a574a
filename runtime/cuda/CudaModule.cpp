// SPDX-License-Identifier: Apache-2.0
//
// Modules and kernels of the driver. Lookups are cached, because a launch may
// look its kernel up by name.
#include "runtime/cuda/CudaModule.h"
#include <cstring>

using namespace act;
using namespace act::runtime;
using namespace act::runtime::cuda;

CudaKernel::CudaKernel(const CudaDriver &driver, CUfunction function)
    : function(function) {
  auto get = [&](int attribute) {
    int value = 0;
    return driver.cuFuncGetAttribute(&value, attribute, function) == 0 &&
                   value > 0
               ? static_cast<uint32_t>(value)
               : 0u;
  };
  facts.maxThreadsPerBlock = get(functionMaxThreads);
  facts.registers = get(functionRegisters);
  facts.sharedBytes = get(functionShared);
  facts.localBytes = get(functionLocal);
  facts.requiredCluster[0] = get(functionClusterWidth);
  facts.requiredCluster[1] = get(functionClusterHeight);
  facts.requiredCluster[2] = get(functionClusterDepth);
  if (!driver.cuFuncGetParamInfo)
    return;
  layout.emplace();
  size_t offset = 0, bytes = 0;
  for (size_t i = 0;
       driver.cuFuncGetParamInfo(function, i, &offset, &bytes) == 0; ++i) {
    layout->offsets.push_back(static_cast<uint32_t>(offset));
    layout->bytes.push_back(static_cast<uint32_t>(bytes));
  }
}

// The driver refuses more than 48 KiB of dynamic shared memory unless the
// kernel was told to allow it.
Status CudaKernel::allowShared(const CudaDriver &driver, uint64_t bytes) {
  std::lock_guard lock(mutex);
  if (bytes <= allowedShared)
    return ok();
  auto s =
      driver.check(driver.cuFuncSetAttribute(function, functionMaxDynamicShared,
                                             static_cast<int>(bytes)),
                   "allow the kernel that much dynamic shared memory");
  if (s)
    allowedShared = bytes;
  return s;
}

Status CudaKernel::allowCluster(const CudaDriver &driver, uint64_t blocks) {
  std::lock_guard lock(mutex);
  if (blocks <= allowedCluster)
    return ok();
  auto s = driver.check(
      driver.cuFuncSetAttribute(function, functionNonPortableCluster, 1),
      "allow the kernel clusters of more than 8 blocks");
  if (s)
    allowedCluster = blocks;
  return s;
}

// A cluster runs on multiprocessors that are near each other, so there may be
// fewer blocks in clusters than on their own. Drivers that cannot count
// clusters cannot launch any. What does not fit is for the launch to refuse.
Result<uint64_t> CudaKernel::residentBlocks(const CudaDriver &driver,
                                            const CUlaunchConfig &config,
                                            uint32_t cluster,
                                            uint32_t multiprocessors) {
  std::lock_guard lock(mutex);
  const std::tuple key{config.block[0], config.sharedBytes, cluster};
  if (auto known = resident.find(key); known != resident.end())
    return known->second;
  int count = 0;
  const bool isClusters = cluster > 1 && driver.cuOccupancyMaxActiveClusters;
  if (auto s =
          isClusters
              ? driver.check(driver.cuOccupancyMaxActiveClusters(
                                 &count, function, &config),
                             "count the clusters of the device")
              : driver.check(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                                 &count, function,
                                 static_cast<int>(config.block[0]),
                                 static_cast<size_t>(config.sharedBytes)),
                             "count the blocks of a multiprocessor");
      !s)
    return s.error();
  const uint64_t all = std::max(count, 1);
  return resident[key] =
             isClusters ? all * cluster : all * std::max(1u, multiprocessors);
}

// The driver reads PTX up to a zero byte; a machine-code image knows its size.
Result<std::shared_ptr<CudaImage>>
CudaImage::load(const CudaContext &device, const void *data, size_t bytes) {
  std::string text(static_cast<const char *>(data), bytes); // ends in zero
  char log[16384] = {0};
  int options[] = {jitErrorLog, jitErrorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log - 1)};
  CurrentContext current(device.driver, device.context);
  if (auto s = current.status(); !s)
    return s.error();
  CUmodule module = nullptr;
  CUresult r = device.driver.cuModuleLoadDataEx(&module, text.data(), 2,
                                                options, values);
  if (r != 0) {
    Error e = device.driver.error(r, "load the module");
    std::string said(log, strnlen(log, sizeof log));
    while (!said.empty() && said.back() == '\n')
      said.pop_back();
    if (!said.empty())
      e.message += ": " + said;
    return e;
  }
  return std::shared_ptr<CudaImage>(new CudaImage(device, module));
}

CudaImage::~CudaImage() {
  CurrentContext current(driver, context);
  if (current.status())
    driver.cuModuleUnload(module);
}

// A kernel is made at its first lookup and lives as long as the image.
Result<Kernel *> CudaImage::kernel(const std::string &symbol) {
  std::lock_guard lock(mutex);
  auto found = kernels.find(symbol);
  if (found != kernels.end())
    return static_cast<Kernel *>(found->second.get());
  CurrentContext current(driver, context);
  if (auto s = current.status(); !s)
    return s.error();
  CUfunction function = nullptr;
  CUresult r = driver.cuModuleGetFunction(&function, module, symbol.c_str());
  if (r == errorNotFound)
    return Error{"the module has no kernel '" + symbol + "'", ""};
  if (r != 0)
    return driver.error(r, "look up a kernel");
  auto &slot = kernels[symbol];
  slot = std::make_unique<CudaKernel>(driver, function);
  return static_cast<Kernel *>(slot.get());
}

Result<Module::Variable> CudaImage::variable(const std::string &symbol) {
  std::lock_guard lock(mutex);
  CurrentContext current(driver, context);
  if (auto s = current.status(); !s)
    return s.error();
  CUdeviceptr address = 0;
  size_t bytes = 0;
  CUresult r =
      driver.cuModuleGetGlobal(&address, &bytes, module, symbol.c_str());
  if (r == errorNotFound)
    return Error{"the module has no variable '" + symbol + "'", ""};
  if (r != 0)
    return driver.error(r, "look up a variable");
  variables[address] = bytes;
  return Module::Variable{reinterpret_cast<void *>(address), bytes};
}

bool CudaImage::contains(uintptr_t address, uint64_t bytes) {
  std::lock_guard lock(mutex);
  auto it = variables.upper_bound(address);
  if (it == variables.begin())
    return false;
  --it;
  uint64_t offset = address - it->first;
  return offset <= it->second && bytes <= it->second - offset;
}
