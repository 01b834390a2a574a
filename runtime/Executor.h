// SPDX-License-Identifier: Apache-2.0
//
// The interface below which the backends stand.
//
//   capi/  handles, argument checks          step/  a loaded artifact
//                     \                       /
//                      Executor, Module, Stream          (this file)
//                     /          |           \.
//                  host/       cuda/         sim/
//
// An Executor is one device. It owns memory, loads modules (an ELF shared
// object on the host, PTX on the others) and makes streams. All methods may be
// called from any thread; one Stream is used by one thread at a time. Nothing
// here throws; every failure is an Error with a message.
#ifndef ACT_RUNTIME_EXECUTOR_H
#define ACT_RUNTIME_EXECUTOR_H
#include "act/Result.h"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace act::runtime {

struct DeviceInfo {
  std::string name, kind; // "host", "host"
  uint32_t threads = 1;
  uint64_t memoryBytes = 0;
  bool hostAddressable = false; // the CPU reads and writes its memory directly
};

struct MemoryStatistics {
  uint64_t current = 0, peak = 0, allocations = 0;
};

/// What a kernel was compiled to need; 0 where the device cannot know.
struct KernelAttributes {
  uint32_t maxThreadsPerBlock = 0, registers = 0;
  uint64_t sharedBytes = 0, localBytes = 0;
};

class Kernel {
public:
  virtual ~Kernel() = default;
  virtual KernelAttributes attributes() const = 0;
};

class Module {
public:
  virtual ~Module() = default;
  /// The kernel stays valid as long as the module.
  virtual Result<Kernel *> kernel(const std::string &symbol) = 0;
};

struct LaunchShape {
  uint64_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint64_t sharedBytes = 0;
  uint64_t scratchBytes = 0; // host: per thread
};

/// addresses[i] is the device address of a tensor, or, when scalarBytes[i] is
/// not 0, the host address of a scalar of that many bytes. A null `scalarBytes`
/// means that all are tensors.
struct Arguments {
  void *const *addresses = nullptr;
  const uint8_t *scalarBytes = nullptr;
  uint32_t count = 0;
};

class Event {
public:
  virtual ~Event() = default;
  virtual Status synchronize() = 0;
  /// Milliseconds from `start` to this event; both must have happened.
  virtual Result<double> elapsedSince(Event &start) = 0;
};

enum class Direction { HostToDevice, DeviceToHost, DeviceToDevice };

class Stream {
public:
  virtual ~Stream() = default;
  virtual Status copy(void *to, const void *from, uint64_t bytes,
                      Direction direction) = 0;
  virtual Status fill(void *to, uint8_t value, uint64_t bytes) = 0;
  virtual Status launch(Kernel &kernel, const LaunchShape &shape,
                        const Arguments &arguments) = 0;
  virtual Status record(Event &event) = 0;
  virtual Status wait(Event &event) = 0;
  virtual Status synchronize() = 0;
};

class Executor {
public:
  virtual ~Executor() = default;
  virtual DeviceInfo info() const = 0;
  /// Aligned to 4096 bytes and zeroed; a size of 0 gives a valid address.
  virtual Result<void *> allocate(uint64_t bytes) = 0;
  virtual Status free(void *address) = 0;
  /// An error unless the range lies within one allocation.
  virtual Status checkRange(const void *address, uint64_t bytes) const = 0;
  virtual MemoryStatistics statistics() const = 0;
  virtual void resetPeak() = 0;
  virtual Result<std::unique_ptr<Module>>
  loadModule(const void *data, size_t bytes, bool allowNative) = 0;
  virtual std::unique_ptr<Stream> createStream() = 0;
  virtual std::unique_ptr<Event> createEvent() = 0;
  /// Makes sure that launches with up to so much scratch allocate nothing.
  virtual Status reserveScratch(uint64_t bytesPerThread) = 0;
};

struct DeviceOptions {
  uint32_t threads = 0; // host: 0 means one per available core
};
/// By name: "host", "cuda:0", "sim:sm_90a".
Result<std::shared_ptr<Executor>> openDevice(const std::string &name,
                                             const DeviceOptions &options);

} // namespace act::runtime
#endif
