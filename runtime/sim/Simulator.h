// SPDX-License-Identifier: Apache-2.0
//
// The PTX simulator as a library: load PTX text, give it memory, launch.
//
//     Simulator sim(*targetNamed("sm_90a"), {});
//     auto module = sim.load(text, "kernel.ptx");
//     void *x = *sim.allocate(4096);
//     LaunchRequest request; request.grid[0] = 8; request.block[0] = 128;
//     auto report = sim.launch(**module, "kernel", request);
//     for (const Finding &f : report->findings) puts(f.str().c_str());
//
// Device addresses are host addresses: memory given out by allocate() may be
// read and written by the host between launches. Memory of the host that
// kernels may touch is made known with registerHost(). Everything else is out
// of bounds.
//
// What the parts are:
//
//   ptx/      text → tree                         (knows the grammar)
//   decode/   tree → Program                      (knows instructions, targets)
//   Machine   grid → clusters → CTAs → warps → fragments of lanes that step
//             together; barriers; asynchronous operations
//   Memory    allocations, the windows of shared and local memory
//   Clock, Shadow   who knows of whose accesses: races
//   Definedness, DefinedBytes, Origins   what is undefined in registers and in
//             memory, and where it came from
//   Counters  what the hardware would have done
//
// Launches of kernels that wait for each other are begun with begin(), and
// advance() goes on with all that are under way; launch() does both. Calls take
// turns by a mutex; inside, clusters run on `threads` host threads.
#ifndef ACT_RUNTIME_SIM_SIMULATOR_H
#define ACT_RUNTIME_SIM_SIMULATOR_H
#include "act/Result.h"
#include "runtime/sim/Counters.h"
#include "runtime/sim/Finding.h"
#include "runtime/sim/Memory.h"
#include "runtime/sim/Target.h"
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace act::runtime::sim {

struct Options {
  bool checks = true;
  /// Reading memory that was never written is a finding, and storing an
  /// undefined value. Else both hand it on, and what is found is its use: as an
  /// address, to decide control, at a barrier, by the host.
  bool strict = false;
  /// Orders warps and CTAs and places asynchronous operations; draws errors of
  /// approximate functions, and how tensor cores sum, unless those are to be as
  /// they are with seed 0. 0: everything as early as possible, in order,
  /// correctly rounded.
  uint64_t seed = 0;
  bool drawsRounding = true;
  uint64_t maximumInstructions = 0; // warp instructions of a launch; 0: no end
  unsigned threads = 0;             // 0: one per core
  /// Where printf and assert of kernels write; when empty, stdout and stderr.
  std::function<void(std::string_view)> print;
  size_t maximumFindings = 100;
};

/// A kernel's needs, known once it is decoded.
struct KernelInfo {
  std::string name;
  uint64_t parameterBytes = 0, sharedBytes = 0, localBytes = 0;
  uint32_t registers = 0; // 32-bit registers live at once, an estimate
  uint32_t maxThreads = 1024;
  uint32_t requiredBlock[3] = {0, 0, 0}, requiredCluster[3] = {0, 0, 0};
  struct Parameter {
    uint64_t offset, bytes;
    uint32_t align;
  };
  std::vector<Parameter> parameters;
};

struct LaunchRequest {
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, cluster[3] = {0, 0, 0};
  uint64_t dynamicSharedBytes = 0;
  bool cooperative = false;
  /// The parameter block as the kernel sees it: every parameter at its offset.
  std::vector<uint8_t> parameters;
};

struct LaunchReport {
  std::vector<Finding> findings; // of this launch, most severe class first
  Counters counters;
  /// Warp instructions after which it was stopped (Options); 0: it ended.
  uint64_t stoppedAfter = 0;
};

/// That a launch was stopped, in words.
Error stopped(const std::string &kernel, uint64_t warpInstructions);

class Program; // a decoded module
/// Outlives the launches of its kernels that are under way.
class LoadedModule {
public:
  LoadedModule(std::unique_ptr<Program> program, Memory &memory);
  ~LoadedModule();
  Result<KernelInfo> kernel(const std::string &name) const;
  std::vector<std::string> kernels() const;
  struct Symbol {
    void *address;
    uint64_t bytes;
  };
  Result<Symbol> symbol(const std::string &name) const;
  const std::shared_ptr<Program> &program() const { return decoded; }

private:
  std::shared_ptr<Program> decoded;
  Memory &memory;
};

class Grid;
class Underway;

/// A launch that has begun. Dropped before it has ended, it goes on, and nobody
/// hears of it.
class Launch {
public:
  bool ended() const { return has; }
  /// What became of it, once it has ended.
  const Result<LaunchReport> &report() const { return *outcome; }

private:
  friend class Simulator;
  std::shared_ptr<Grid> grid;
  uint64_t waitedAt = ~uint64_t(0); // Underway::events when all of it waited
  std::atomic<bool> has{false};
  std::optional<Result<LaunchReport>> outcome;
};

class Simulator {
public:
  Simulator(const Target &target, Options options);
  ~Simulator();
  const Target &target() const { return machine; }

  /// Parses, decodes and checks the text against the target; allocates and
  /// initialises its variables. `name` is what messages call it.
  Result<std::unique_ptr<LoadedModule>> load(std::string_view text,
                                             const std::string &name);
  /// Runs the kernel to its end. That it waits for what none of the launches
  /// under way does is a deadlock.
  Result<LaunchReport> launch(const LoadedModule &module,
                              const std::string &kernel,
                              const LaunchRequest &request);

  /// Checks the request, and enters it with the launches that are under way.
  Result<std::shared_ptr<Launch>> begin(const LoadedModule &module,
                                        const std::string &kernel,
                                        const LaunchRequest &request);
  /// Lets each launch that is under way run until it ends, waits, or has
  /// executed about `instructions` of a warp (0: no end). Those that wait are
  /// left alone while nothing has changed, unless it is to `look`: who changed
  /// memory besides cannot be known. False when none has moved.
  bool advance(uint64_t instructions, bool look);
  /// Says that nobody comes for whom the launch waits: it ends as a deadlock.
  void giveUp(Launch &launch);
  /// The host has changed memory that kernels may wait for.
  void changed();

  /// Aligned to 512 bytes. Uninitialised for the checks (though zero) unless
  /// the host says that it wrote it: markInitialised().
  Result<void *> allocate(uint64_t bytes, const std::string &name = "");
  Status free(void *address);
  /// What is undefined there at the end of a launch is one of its findings.
  void registerHost(void *address, uint64_t bytes, const std::string &name);
  void unregisterHost(void *address);
  void markInitialised(const void *address, uint64_t bytes);
  /// Call it for what the host takes from allocate()d memory behind a launch:
  /// what kernels stored there of undefined values is found then.
  std::vector<Finding> takenByHost(const void *address, uint64_t bytes) {
    return space.takenByHost(address, bytes);
  }
  Memory &memory() { return space; }

private:
  void end(Launch &launch);
  Target machine;
  Options options;
  Memory space;
  std::mutex launching;
  std::unique_ptr<Underway> underway;
  std::vector<std::shared_ptr<Launch>> launches; // under way, oldest first
};

} // namespace act::runtime::sim
#endif
