// SPDX-License-Identifier: Apache-2.0
//
// The CPU as a device. Streams run each operation before they return, so an
// event has happened as soon as it is recorded. Memory comes from anonymous
// mappings: page-aligned, zeroed and counted.
#ifndef ACT_RUNTIME_HOST_HOSTEXECUTOR_H
#define ACT_RUNTIME_HOST_HOSTEXECUTOR_H
#include "runtime/Blocks.h"
#include "runtime/Executor.h"
#include "runtime/host/ThreadPool.h"
#include <mutex>

namespace act::runtime {

class HostExecutor : public Executor {
public:
  explicit HostExecutor(unsigned threads) : pool(threads) {}
  ~HostExecutor() override;
  DeviceInfo info() const override;
  Result<void *> allocate(uint64_t bytes) override;
  Result<void *> allocateShared(uint64_t bytes) override {
    return allocate(bytes);
  }
  Status free(void *address) override;
  Status adopt(void *address, uint64_t bytes,
               std::function<void()> release) override;
  size_t allocationsAt(const void *address) const override;
  Status checkRange(const void *address, uint64_t bytes) const override;
  MemoryStatistics statistics() const override;
  void resetPeak() override;
  Result<std::unique_ptr<Module>> loadModule(const void *data, size_t bytes,
                                             bool allowNative) override;
  Result<std::unique_ptr<Stream>> createStream() override;
  Result<std::unique_ptr<Event>> createEvent() override;
  Status reserveScratch(uint64_t bytesPerThread) override;
  void forEachScratch(
      const std::function<void(uint8_t *, uint64_t)> &visit) override;

private:
  friend class HostStream;
  ThreadPool pool;
  mutable std::mutex mutex;
  Blocks blocks;
  MemoryStatistics memory;
};

} // namespace act::runtime
#endif
