// SPDX-License-Identifier: Apache-2.0
//
// The interface between the runtime and its backends.
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
  uint64_t sharedBytesPerBlock = 0; // the maximum for a block
  uint32_t ordinal = 0;             // cuda:N
};

struct MemoryStatistics {
  uint64_t current = 0, peak = 0, allocations = 0;
};

/// The resources of a compiled kernel; 0 where the device cannot know.
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
  /// A variable of the module; `address` is on the device.
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
  uint32_t cluster[3] = {0, 0, 0}; // all 0: the kernel's own
  uint64_t sharedBytes = 0;        // dynamic
  bool cooperative = false;        // all blocks resident at once
  /// No more blocks than are resident at once, each for several of the grid,
  /// which has one dimension.
  bool persistent = false;
  /// So many blocks, one after the other in the order in which they begin, may
  /// wait for each other. A device that runs fewer at once refuses the launch.
  uint32_t atOnce = 0;
  uint64_t scratchBytes = 0; // host: per thread
};

/// addresses[i] is the device address of a tensor or, if scalarBytes[i] is not
/// 0, the host address of a value of that many bytes. A null `scalarBytes`
/// means that all are tensors.
///
/// With `asDeclared`, addresses[i] is the host address of the i-th parameter's
/// value, whose size only the kernel knows: the convention of cuLaunchKernel.
/// `count` is then ignored. The host device does not support this.
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

/// The recorded work of a stream between beginCapture and endCapture.
class Graph {
public:
  virtual ~Graph() = default;
};

/// Any: derived from the addresses; each may be on the host or the device.
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
  /// Calls `function` once all earlier work is done, on any thread.
  virtual Status callback(std::function<void()> function) = 0;
  /// Whether launches and copies can be recorded instead of run. A capture
  /// reads arguments when it records.
  virtual bool canCapture() const { return false; }
  virtual Status beginCapture() { return Error{"cannot capture", ""}; }
  virtual Result<std::unique_ptr<Graph>> endCapture() {
    return Error{"cannot capture", ""};
  }
  virtual Status launch(Graph &) { return Error{"cannot launch a graph", ""}; }
};

/// The findings of a device's checks, oldest first.
struct Findings {
  uint64_t count = 0;
  std::string text; // of those kept, one or a few lines each
};

class Executor {
public:
  virtual ~Executor() = default;
  virtual DeviceInfo info() const = 0;
  /// Aligned to at least 256 bytes (4096 on the host) and zeroed. A size of 0
  /// gives a valid address.
  virtual Result<void *> allocate(uint64_t bytes) = 0;
  /// The same, for memory that the CPU may access too.
  virtual Result<void *> allocateShared(uint64_t bytes) = 0;
  virtual Status free(void *address) = 0;
  /// Registers another owner's memory as an allocation of this device. free()
  /// of its first byte ends that and calls `release` instead of freeing it.
  /// Kernels of the device must be able to access the memory.
  virtual Status adopt(void *address, uint64_t bytes,
                       std::function<void()> release) = 0;
  /// Makes CPU memory accessible to kernels, until unregisterHost.
  virtual Status registerHost(void *address, uint64_t bytes) {
    return adopt(address, bytes, nullptr);
  }
  virtual Status unregisterHost(void *address) { return free(address); }
  /// How many times free() accepts the address: memory of others may be adopted
  /// several times.
  virtual size_t allocationsAt(const void *address) const = 0;
  bool isAllocation(const void *address) const {
    return allocationsAt(address) != 0;
  }
  /// Lends an allocation to another owner (actrt_to_dlpack): only that owner
  /// frees it, until takeBack(). lend() is false if all that begin at the
  /// address are lent already.
  bool lend(const void *address) {
    std::lock_guard<std::mutex> guard(lending);
    if (lent.count(address) >= allocationsAt(address))
      return false;
    lent.insert(address);
    return true;
  }
  bool isLent(const void *address) const {
    std::lock_guard<std::mutex> guard(lending);
    return lent.count(address) != 0 &&
           lent.count(address) >= allocationsAt(address);
  }
  void takeBack(const void *address) {
    std::lock_guard<std::mutex> guard(lending);
    if (auto it = lent.find(address); it != lent.end())
      lent.erase(it);
  }
  /// Notes that the range is written by means other than this interface.
  virtual void writtenByOthers(void *, uint64_t) {}
  /// An error unless the range lies within one allocation.
  virtual Status checkRange(const void *address, uint64_t bytes) const = 0;
  /// The memory that can still be allocated. The default is the host's, for the
  /// host device and simulators.
  virtual FreeMemory freeMemory() const { return freeHostMemory(); }
  virtual MemoryStatistics statistics() const = 0;
  virtual void resetPeak() = 0;
  virtual Result<std::unique_ptr<Module>>
  loadModule(const void *data, size_t bytes, bool allowNative) = 0;
  virtual Result<std::unique_ptr<Stream>> createStream() = 0;
  virtual Result<std::unique_ptr<Event>> createEvent() = 0;
  /// Allocates scratch, so that launches that need up to this much allocate
  /// nothing.
  virtual Status reserveScratch(uint64_t bytesPerThread) = 0;
  /// Calls the function with each thread's scratch and its size; only while
  /// nothing runs.
  virtual void
  forEachScratch(const std::function<void(uint8_t *, uint64_t)> &) {}
  /// Whether kernels are PTX: their parameters have their own sizes, and null
  /// is a valid pointer argument.
  virtual bool runsPtx() const { return false; }
  virtual Result<TensorMap> encodeTensorMap(const TiledTensor &) {
    return Error{"device " + info().name + " has no tensor maps", ""};
  }
  virtual Findings findings() const { return {}; }
  virtual void clearFindings() {}
  /// Waits for all streams, destroyed ones included. Returns the first failure
  /// that no call has returned.
  virtual Status synchronize() { return ok(); }

private:
  mutable std::mutex lending;
  std::multiset<const void *> lent;
};

struct DeviceOptions {
  uint32_t threads = 0;             // host, sim: 0 means one per available core
  bool checks = true;               // sim
  bool strict = false;              // sim: reports reads of unwritten memory
  uint64_t seed = 0;                // sim
  bool drawsRounding = true;        // sim: the seed draws rounding, as orders
  uint64_t maximumInstructions = 0; // sim: per launch and warp; 0: no limit
  bool benignFails = false;         // sim: tolerated findings are errors too
};
/// Names: "host", "cuda:0", "sim:sm_90a".
Result<std::shared_ptr<Executor>> openDevice(const std::string &name,
                                             const DeviceOptions &options);

} // namespace act::runtime
#endif
