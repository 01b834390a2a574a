// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_RUNTIME_CUDA_CUDASTREAM_H
#define ACT_RUNTIME_CUDA_CUDASTREAM_H
#include "runtime/cuda/CudaContext.h"
#include <atomic>

namespace act::runtime::cuda {

class CudaEvent : public Event {
public:
  static Result<std::unique_ptr<Event>> create(CudaContext &device);
  ~CudaEvent() override;
  Status synchronize() override;
  Result<double> elapsedSince(Event &start) override;

private:
  friend class CudaStream;
  CudaEvent(CudaContext &device, CUevent event)
      : device(device), event(event) {}
  CudaContext &device;
  const CUevent event;
  std::atomic<bool> recorded{false};
};

class CudaStream : public Stream {
public:
  static Result<std::unique_ptr<Stream>> create(CudaContext &device);
  ~CudaStream() override;
  Status copy(void *to, const void *from, uint64_t bytes,
              Direction direction) override;
  Status fill(void *to, uint8_t value, uint64_t bytes) override;
  Status fillWords(void *to, uint32_t value, unsigned width,
                   uint64_t count) override;
  Status launch(Kernel &kernel, const LaunchShape &shape,
                const Arguments &arguments) override;
  Status record(Event &event) override;
  Status wait(Event &event) override;
  Status synchronize() override;
  Status callback(std::function<void()> function) override;
  bool canCapture() const override { return true; }
  Status beginCapture() override;
  Result<std::unique_ptr<Graph>> endCapture() override;
  Status launch(Graph &graph) override;

private:
  CudaStream(CudaContext &device, CUstream stream)
      : device(device), driver(device.driver), stream(stream) {}
  CudaContext &device;
  const CudaDriver &driver;
  const CUstream stream;
};

} // namespace act::runtime::cuda
#endif
