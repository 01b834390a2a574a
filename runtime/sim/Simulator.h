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
// Device addresses are host addresses: the host may read and write memory from
// allocate() between launches. registerHost() makes host memory accessible to
// kernels. Everything else is out of bounds.
//
// README.md says how the parts of the simulator depend on each other.
//
// For kernels that wait for each other, begin() starts each launch and
// advance() runs all launches under way; launch() does both. A mutex serialises
// calls; within a call, clusters run on `threads` host threads.
#ifndef ACT_RUNTIME_SIM_SIMULATOR_H
#define ACT_RUNTIME_SIM_SIMULATOR_H
#include "act/Result.h"
#include "runtime/sim/memory/Memory.h"
#include "runtime/sim/program/LaunchRequest.h"
#include "runtime/sim/program/Target.h"
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace act::runtime::sim {

/// The error for a launch that was stopped.
Error stopped(const std::string &kernel, uint64_t warpInstructions);

class Program; // a decoded module
/// Must outlive the launches of its kernels that are under way.
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

/// A launch that has begun. If the handle is dropped before the end, the launch
/// continues and its report is lost.
class Launch {
public:
  bool ended() const { return has; }
  /// The outcome, once it has ended.
  const Result<LaunchReport> &report() const { return *outcome; }

private:
  friend class Simulator;
  std::shared_ptr<Grid> grid;
  uint64_t waitedAt = ~uint64_t(0); // Underway::events when it began to wait
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
  /// Runs the kernel to its end. If it waits for something that no launch under
  /// way does, that is a deadlock.
  Result<LaunchReport> launch(const LoadedModule &module,
                              const std::string &kernel,
                              const LaunchRequest &request);

  /// Checks the request, and adds it to the launches under way.
  Result<std::shared_ptr<Launch>> begin(const LoadedModule &module,
                                        const std::string &kernel,
                                        const LaunchRequest &request);
  /// Runs each launch under way until it ends, waits, or has executed about
  /// `instructions` warp instructions (0: no limit). Skips waiting launches
  /// while no launch has changed memory; `look` runs those too, since changes
  /// by others are not seen. False when none has advanced.
  bool advance(uint64_t instructions, bool look);
  /// Nothing will do what the launch waits for: ends it as a deadlock.
  void giveUp(Launch &launch);
  /// Call it after the host has changed memory that kernels may wait for.
  void changed();

  /// Aligned to 512 bytes and zero, but uninitialised for the checks until the
  /// host calls markInitialised().
  Result<void *> allocate(uint64_t bytes, const std::string &name = "");
  Status free(void *address);
  /// Undefined values there at the end of a launch are findings of the launch.
  void registerHost(void *address, uint64_t bytes, const std::string &name);
  void unregisterHost(void *address);
  void markInitialised(const void *address, uint64_t bytes);
  /// Call it when the host reads allocate()d memory after a launch. Returns
  /// findings for undefined values that kernels stored there.
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
