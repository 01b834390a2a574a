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
#include "runtime/FreeMemory.h"
#include "runtime/TensorMap.h"
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace act::runtime {

struct DeviceInfo {
  std::string name, kind; // "host", "host"
  uint32_t threads = 1;
  uint64_t memoryBytes = 0;
  bool hostAddressable = false; // the CPU reads and writes its memory directly
  std::string target;           // "sm_90a"; the host has none
  uint32_t sm = 0;              // 90
  uint32_t multiprocessors = 0;
  uint64_t sharedBytesPerBlock = 0; // the most that a block may ask for
  uint32_t ordinal = 0;             // cuda:N
};

struct MemoryStatistics {
  uint64_t current = 0, peak = 0, allocations = 0;
};

/// What a kernel was compiled to need; 0 where the device cannot know.
struct KernelAttributes {
  uint32_t maxThreadsPerBlock = 0, registers = 0;
  uint64_t sharedBytes = 0, localBytes = 0; // shared: static
  uint32_t requiredBlock[3] = {0, 0, 0}, requiredCluster[3] = {0, 0, 0};
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
  /// A variable of the module: where it lies on the device.
  struct Variable {
    void *address;
    uint64_t bytes;
  };
  virtual Result<Variable> variable(const std::string &symbol) {
    return Error{"modules of this device have no variables, asked for '" +
                     symbol + "'",
                 ""};
  }
};

struct LaunchShape {
  uint64_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t cluster[3] = {0, 0, 0}; // all 0: as the kernel itself says
  uint64_t sharedBytes = 0;        // dynamic
  bool cooperative = false;        // all blocks resident at once
  uint64_t scratchBytes = 0;       // host: per thread
};

/// addresses[i] is the device address of a tensor, or, when scalarBytes[i] is
/// not 0, the host address of a value of that many bytes. A null `scalarBytes`
/// means that all are tensors.
///
/// With `asDeclared`, addresses[i] is the host address of the i-th parameter's
/// value, whose size only the kernel knows: the convention of cuLaunchKernel.
/// `count` is then not looked at, and the host cannot do it.
struct Arguments {
  void *const *addresses = nullptr;
  const uint32_t *scalarBytes = nullptr;
  uint32_t count = 0;
  bool asDeclared = false;
};

class Event {
public:
  virtual ~Event() = default;
  virtual Status synchronize() = 0;
  /// Milliseconds from `start` to this event; both must have happened.
  virtual Result<double> elapsedSince(Event &start) = 0;
};

/// What a stream did between beginCapture and endCapture, to be done again.
class Graph {
public:
  virtual ~Graph() = default;
};

/// Any: as the addresses say; either may be of either side.
enum class Direction { HostToDevice, DeviceToHost, DeviceToDevice, Any };

class Stream {
public:
  virtual ~Stream() = default;
  virtual Status copy(void *to, const void *from, uint64_t bytes,
                      Direction direction) = 0;
  virtual Status fill(void *to, uint8_t value, uint64_t bytes) = 0;
  /// `count` words of `width` (1, 2 or 4) bytes each.
  virtual Status fillWords(void *to, uint32_t value, unsigned width,
                           uint64_t count) = 0;
  virtual Status launch(Kernel &kernel, const LaunchShape &shape,
                        const Arguments &arguments) = 0;
  virtual Status record(Event &event) = 0;
  virtual Status wait(Event &event) = 0;
  virtual Status synchronize() = 0;
  /// Calls back once what came before is done; on whatever thread.
  virtual Status callback(std::function<void()> function) = 0;
  /// Whether launches and copies can be recorded instead of run. Those of a
  /// capture read their arguments when they are recorded.
  virtual bool canCapture() const { return false; }
  virtual Status beginCapture() { return Error{"cannot capture", ""}; }
  virtual Result<std::unique_ptr<Graph>> endCapture() {
    return Error{"cannot capture", ""};
  }
  virtual Status launch(Graph &) { return Error{"cannot launch a graph", ""}; }
};

/// What a device's checks noticed, oldest first.
struct Findings {
  uint64_t count = 0;
  std::string text; // of those that were kept, a line or a few each
};

class Executor {
public:
  virtual ~Executor() = default;
  virtual DeviceInfo info() const = 0;
  /// Aligned to 256 bytes at least (4096 on the host) and zeroed; a size of 0
  /// gives a valid address.
  virtual Result<void *> allocate(uint64_t bytes) = 0;
  /// Memory that the CPU may touch directly too.
  virtual Result<void *> allocateShared(uint64_t bytes) = 0;
  virtual Status free(void *address) = 0;
  /// Makes memory of another owner known as an allocation of this device, until
  /// free() of its first byte, which calls `release` instead of freeing it. The
  /// memory must be one that kernels of the device can reach.
  virtual Status adopt(void *address, uint64_t bytes,
                       std::function<void()> release) = 0;
  /// Makes memory of the CPU reachable for kernels, until unregisterHost.
  virtual Status registerHost(void *address, uint64_t bytes) {
    return adopt(address, bytes, nullptr);
  }
  virtual Status unregisterHost(void *address) { return free(address); }
  /// Whether free() would take the address.
  virtual bool isAllocation(const void *address) const = 0;
  /// An allocation that was handed to others (actrt_to_dlpack): only they free
  /// it, until they give it back. lend() is false when it is lent already.
  bool lend(const void *address) {
    std::lock_guard<std::mutex> guard(lending);
    return lent.insert(address).second;
  }
  bool isLent(const void *address) const {
    std::lock_guard<std::mutex> guard(lending);
    return lent.count(address) != 0;
  }
  void takeBack(const void *address) {
    std::lock_guard<std::mutex> guard(lending);
    lent.erase(address);
  }
  /// Says that others than this interface write the range.
  virtual void writtenByOthers(void *, uint64_t) {}
  /// An error unless the range lies within one allocation.
  virtual Status checkRange(const void *address, uint64_t bytes) const = 0;
  /// What could still be allocated: of a host and its simulators, the host's.
  virtual FreeMemory freeMemory() const { return freeHostMemory(); }
  virtual MemoryStatistics statistics() const = 0;
  virtual void resetPeak() = 0;
  virtual Result<std::unique_ptr<Module>>
  loadModule(const void *data, size_t bytes, bool allowNative) = 0;
  virtual Result<std::unique_ptr<Stream>> createStream() = 0;
  virtual Result<std::unique_ptr<Event>> createEvent() = 0;
  /// Makes sure that launches with up to so much scratch allocate nothing.
  virtual Status reserveScratch(uint64_t bytesPerThread) = 0;
  /// Hands over each thread's scratch and its size; only while nothing runs.
  virtual void
  forEachScratch(const std::function<void(uint8_t *, uint64_t)> &) {}
  /// Kernels are PTX with parameters of their own sizes, and may be given null.
  virtual bool runsPtx() const { return false; }
  virtual Result<TensorMap> encodeTensorMap(const TiledTensor &) {
    return Error{"device " + info().name + " has no tensor maps", ""};
  }
  virtual Findings findings() const { return {}; }
  virtual void clearFindings() {}
  /// Waits for all streams, those that are gone, too. The first failure that no
  /// call has returned.
  virtual Status synchronize() { return ok(); }

private:
  mutable std::mutex lending;
  std::set<const void *> lent;
};

struct DeviceOptions {
  uint32_t threads = 0;             // host, sim: 0 means one per available core
  bool checks = true;               // sim
  bool strict = false;              // sim: reports unwritten memory when read
  uint64_t seed = 0;                // sim
  bool drawsRounding = true;        // sim: by the seed, as it draws orders
  uint64_t maximumInstructions = 0; // sim: of a launch, per warp; 0: no end
  bool benignFails = false; // sim: findings that are tolerated are errors, too
};
/// By name: "host", "cuda:0", "sim:sm_90a".
Result<std::shared_ptr<Executor>> openDevice(const std::string &name,
                                             const DeviceOptions &options);

} // namespace act::runtime
#endif
