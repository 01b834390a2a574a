// SPDX-License-Identifier: Apache-2.0
//
// The simulator as a device: "sim:sm_90a".
//
// Streams run each operation before they return. Memory is the host's, at the
// same address, but the interface does not say so (hostAddressable is false):
// bytes that arrive by copy or fill are known to the checks as written, bytes
// that a program puts there behind the device's back are not.
//
// A launch in which a check noticed something is an error that says what; its
// stores have happened all the same, and the finding is kept for findings().
#ifndef ACT_RUNTIME_SIM_SIMEXECUTOR_H
#define ACT_RUNTIME_SIM_SIMEXECUTOR_H
#include "runtime/Executor.h"
#include "runtime/sim/Simulator.h"
#include <map>
#include <mutex>

namespace act::runtime {

class SimExecutor : public Executor {
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
  bool isAllocation(const void *address) const override;
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
  Findings findings() const override;
  void clearFindings() override;

private:
  friend class SimStream;
  /// An error when the launch has findings, which are kept.
  Status keep(const std::vector<sim::Finding> &found);
  /// Copies what is known about initialised bytes along with the bytes.
  void copyInitialised(void *to, const void *from, uint64_t bytes);

  sim::Simulator simulator;
  DeviceInfo facts;
  struct Block {
    uint64_t bytes;
    bool adopted;
    std::function<void()> release;
  };
  mutable std::mutex mutex;
  std::map<uintptr_t, Block> blocks;
  MemoryStatistics memory;
  Findings noticed;
};

} // namespace act::runtime
#endif
