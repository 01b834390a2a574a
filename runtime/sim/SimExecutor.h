// SPDX-License-Identifier: Apache-2.0
//
// The simulator as a device: "sim:sm_90a".
//
// Streams run each operation before they return, as far as that goes
// (SimStream.h). Memory is the host's, at the same address, but the interface
// does not say so (hostAddressable is false): bytes that arrive by copy or fill
// are known to the checks as written, bytes that a program puts there behind
// the device's back are not.
//
// A launch in which a check noticed something is an error that says what, of
// the launch's call or, if it has not ended by then, of the next that waits for
// it; its stores have happened all the same, and the finding is kept for
// findings(). So is a copy to the host of bytes that a kernel left undefined.
#ifndef ACT_RUNTIME_SIM_SIMEXECUTOR_H
#define ACT_RUNTIME_SIM_SIMEXECUTOR_H
#include "runtime/Executor.h"
#include "runtime/sim/Simulator.h"
#include <map>
#include <mutex>
#include <optional>

namespace act::runtime {

struct SimQueue;

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
  Status synchronize() override;

private:
  friend class SimEvent;
  friend class SimModule;
  friend class SimStream;
  friend struct SimLaunch;
  // ---- streams, all under `running` (SimStream.cpp)
  /// Goes on with all streams until it is enough, or some time has passed.
  /// False when nothing moves.
  bool goOn(const std::function<bool()> &enough);
  /// Does all that is first in its stream and can be done now.
  bool attemptAll();
  /// Goes on until it has ended; what the queue then still waits for does not
  /// come, and is a deadlock.
  void finish(SimQueue &queue, const std::function<bool()> &ended);
  /// The same for all queues.
  void finishAll();
  Status takeFailure(SimQueue &queue);

public:
  /// Ends the launch that is first in the queue, or that it waits for.
  void giveUp(SimQueue &queue);

private:
  /// An error when there are findings, which are kept.
  Status keep(const std::vector<sim::Finding> &found);

  sim::Simulator simulator;
  DeviceInfo facts;
  const bool benignFails;
  struct Block {
    uint64_t bytes;
    bool adopted;
    std::function<void()> release;
  };
  mutable std::mutex mutex;
  std::map<uintptr_t, Block> blocks;
  MemoryStatistics memory;
  Findings noticed;
  std::recursive_mutex running;
  std::vector<std::shared_ptr<SimQueue>> queues;
  std::optional<Error> abandoned; // what came of streams that are gone
};

} // namespace act::runtime
#endif
