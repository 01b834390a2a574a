// SPDX-License-Identifier: Apache-2.0
//
// A card's primary context: what modules and streams need of their device.
#ifndef ACT_RUNTIME_CUDA_CUDACONTEXT_H
#define ACT_RUNTIME_CUDA_CUDACONTEXT_H
#include "runtime/Executor.h"
#include "runtime/cuda/CudaDriver.h"

namespace act::runtime::cuda {

struct CudaContext {
  const CudaDriver &driver;
  CUcontext context = nullptr;
  DeviceInfo facts = {};
};

/// Makes the context current during its lifetime.
class CurrentContext {
public:
  CurrentContext(const CudaDriver &driver, CUcontext context)
      : driver(driver), result(driver.cuCtxPushCurrent(context)) {}
  ~CurrentContext() {
    if (result == 0)
      driver.cuCtxPopCurrent(nullptr);
  }
  CurrentContext(const CurrentContext &) = delete;
  Status status() const {
    return driver.check(result, "make the CUDA context current");
  }

private:
  const CudaDriver &driver;
  CUresult result;
};

} // namespace act::runtime::cuda
#endif
