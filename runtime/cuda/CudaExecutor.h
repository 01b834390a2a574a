// SPDX-License-Identifier: Apache-2.0
//
// A card as a device, "cuda:0", through the driver API.
//
// It uses the card's primary context, so that memory and kernels can be shared
// with other libraries of the process. Every call makes that context current
// for its own duration and then restores the thread's.
//
// Streams are asynchronous: host memory of a copy must stay unchanged until the
// stream is synchronised. A PTX module without variables is compiled once per
// device and content, however often it is loaded. One with variables has state,
// so every load compiles it anew.
#ifndef ACT_RUNTIME_CUDA_CUDAEXECUTOR_H
#define ACT_RUNTIME_CUDA_CUDAEXECUTOR_H
#include "runtime/Blocks.h"
#include "runtime/Executor.h"
#include "runtime/cuda/CudaContext.h"
#include <map>
#include <mutex>
#include <tuple>

namespace act::runtime::cuda {

class CudaImage; // a module loaded by the driver

class CudaExecutor : public Executor, private CudaContext {
public:
  /// `name` is the full name, such as "cuda:0".
  static Result<std::shared_ptr<Executor>> open(const std::string &name);
  ~CudaExecutor() override;
  DeviceInfo info() const override { return facts; }
  Result<void *> allocate(uint64_t bytes) override;
  Result<void *> allocateShared(uint64_t bytes) override;
  Status free(void *address) override;
  Status adopt(void *address, uint64_t bytes,
               std::function<void()> release) override;
  Status registerHost(void *address, uint64_t bytes) override;
  Status unregisterHost(void *address) override;
  size_t allocationsAt(const void *address) const override;
  Status checkRange(const void *address, uint64_t bytes) const override;
  FreeMemory freeMemory() const override;
  MemoryStatistics statistics() const override;
  void resetPeak() override;
  Result<std::unique_ptr<Module>> loadModule(const void *data, size_t bytes,
                                             bool allowNative) override;
  Result<std::unique_ptr<Stream>> createStream() override;
  Result<std::unique_ptr<Event>> createEvent() override;
  Status reserveScratch(uint64_t) override { return ok(); }
  bool runsPtx() const override { return true; }
  Result<TensorMap> encodeTensorMap(const TiledTensor &tensor) override;

private:
  explicit CudaExecutor(const CudaDriver &driver) : CudaContext{driver} {}
  Status openCard(int ordinal, const std::string &name);
  Result<void *> remember(CUresult result, CUdeviceptr p, uint64_t bytes);

  CUdevice device = 0;
  mutable std::mutex mutex;
  Blocks blocks;
  MemoryStatistics memory;
  using Content = std::tuple<size_t, uint64_t, uint64_t>; // size, two hashes
  std::map<Content, std::shared_ptr<CudaImage>> images;   // those without state
  std::vector<std::weak_ptr<CudaImage>> live;             // all
};

} // namespace act::runtime::cuda
#endif
