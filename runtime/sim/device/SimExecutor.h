// SPDX-License-Identifier: Apache-2.0
//
// The simulator as a device: "sim:sm_90a".
//
// Streams run each operation before the call returns, if they can
// (SimQueues.h). Device memory is host memory at the same address, but the
// interface does not say so (hostAddressable is false): the checks see bytes
// that arrive by copy or fill as written, but not bytes that the program writes
// directly.
//
// A launch with findings is an error, returned by the launch call or, if the
// launch has not ended by then, by the next call that waits for it. Its stores
// take effect anyway, and findings() keeps the finding. The same holds for a
// copy to the host of bytes that a kernel left undefined.
#ifndef ACT_RUNTIME_SIM_DEVICE_SIMEXECUTOR_H
#define ACT_RUNTIME_SIM_DEVICE_SIMEXECUTOR_H
#include "runtime/Blocks.h"
#include "runtime/Executor.h"
#include "runtime/sim/device/SimQueues.h"
#include <mutex>

namespace act::runtime {

class SimExecutor : public Executor, private SimQueues {
public:
  /// `target` without the "sim:".
  static Result<std::shared_ptr<Executor>> open(const std::string &target,
                                                const DeviceOptions &options);
  SimExecutor(const sim::Target &target, const DeviceOptions &options);
  ~SimExecutor() override;
  DeviceInfo info() const override { return facts; }
  Result<void *> allocate(uint64_t bytes) override;
  Result<void *> allocateShared(uint64_t bytes) override;
  Status free(void *address) override;
  Status adopt(void *address, uint64_t bytes,
               std::function<void()> release) override;
  size_t allocationsAt(const void *address) const override;
  void writtenByOthers(void *address, uint64_t bytes) override;
  Status checkRange(const void *address, uint64_t bytes) const override;
  MemoryStatistics statistics() const override;
  void resetPeak() override;
  Result<std::unique_ptr<Module>> loadModule(const void *data, size_t bytes,
                                             bool allowNative) override;
  Result<std::unique_ptr<Stream>> createStream() override;
  Result<std::unique_ptr<Event>> createEvent() override;
  Status reserveScratch(uint64_t) override { return ok(); }
  bool runsPtx() const override { return true; }
  Result<TensorMap> encodeTensorMap(const TiledTensor &tensor) override;
  Findings findings() const override { return kept(); }
  void clearFindings() override { clearKept(); }
  Status synchronize() override;

private:
  mutable std::mutex mutex;
  Blocks blocks;
  MemoryStatistics memory;
};

} // namespace act::runtime
#endif
