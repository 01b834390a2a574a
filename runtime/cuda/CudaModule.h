// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_RUNTIME_CUDA_CUDAMODULE_H
#define ACT_RUNTIME_CUDA_CUDAMODULE_H
#include "runtime/LaunchRules.h"
#include "runtime/cuda/CudaContext.h"
#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace act::runtime::cuda {

/// A kernel as the driver knows it.
class CudaKernel : public Kernel {
public:
  CudaKernel(const CudaDriver &driver, CUfunction function);
  KernelAttributes attributes() const override { return facts; }
  /// Raises the limit of dynamic shared memory when a launch needs it.
  Status allowShared(const CudaDriver &driver, uint64_t bytes);
  /// Allows clusters of more than eight blocks.
  Status allowCluster(const CudaDriver &driver, uint64_t blocks);

  /// Blocks of such a launch that run at once, on so many multiprocessors;
  /// whole clusters of `cluster` blocks.
  Result<uint64_t> residentBlocks(const CudaDriver &driver,
                                  const CUlaunchConfig &config,
                                  uint32_t cluster, uint32_t multiprocessors);

  const CUfunction function;
  KernelAttributes facts;
  std::optional<ParameterLayout> layout; // unknown before driver 12.4

private:
  std::mutex mutex;
  uint64_t allowedShared = 48 * 1024, allowedCluster = 8;
  /// By threads, shared memory and cluster.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint64_t> resident;
};

class CudaImage {
public:
  static Result<std::shared_ptr<CudaImage>>
  load(const CudaContext &device, const void *data, size_t bytes);
  ~CudaImage();
  Result<Kernel *> kernel(const std::string &symbol);
  Result<Module::Variable> variable(const std::string &symbol);
  /// Whether the range lies in a variable that was looked up before.
  bool contains(uintptr_t address, uint64_t bytes);

private:
  CudaImage(const CudaContext &device, CUmodule module)
      : driver(device.driver), context(device.context), module(module) {}
  const CudaDriver &driver;
  const CUcontext context;
  const CUmodule module;
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<CudaKernel>> kernels;
  std::map<uintptr_t, uint64_t> variables;
};

} // namespace act::runtime::cuda
#endif
