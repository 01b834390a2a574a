// SPDX-License-Identifier: Apache-2.0
//
// The device behind the mgpu* entry points, and what a failure of theirs means.
//
// Which device. ACT_DEVICE names it: "cuda:0", "sim:sm_90a", a simulator with
// options behind it: "sim:sm_80,seed=3,max-instructions=0". Without it, the
// card of mgpuSetDefaultDevice where a driver is there; else each module runs
// on the lowest simulated architecture that its `.target` is compatible with.
// Then there may be several simulators in one program: memory that one of them
// gives out is registered with all of them, so any kernel may be given any
// pointer.
//
// Failures. The entry points return nothing that could say so. Upstream's print
// to stderr and go on, and so do these; but a program whose kernel did not run,
// or ran with a finding, must not look like one that worked. So the process
// then exits with 1, whatever status it asks for, as the last thing it does:
// after its own exit handlers, with its output flushed.
#ifndef ACT_RUNTIME_CAPI_MGPUDEVICE_H
#define ACT_RUNTIME_CAPI_MGPUDEVICE_H
#include "runtime/Executor.h"
#include <functional>
#include <map>
#include <mutex>
#include <set>

namespace act::runtime::mgpu {

/// A module, function, stream or event as the program holds it: an address that
/// is looked up before it is followed.
struct ModuleHandle {
  std::shared_ptr<Executor> device;
  std::unique_ptr<Module> module;
};
struct FunctionHandle {
  ModuleHandle *module;
  Kernel *kernel;
};
struct StreamHandle {
  std::map<Executor *, std::unique_ptr<Stream>> streams; // one per simulator
};
struct EventHandle {
  std::shared_ptr<Executor> device;
  std::unique_ptr<Event> event;
};

class Devices {
public:
  /// Never destroyed: programs unload modules from their exit handlers.
  static Devices &get();

  /// Where memory comes from and events are: the one device, or the first of
  /// several simulators.
  Result<std::shared_ptr<Executor>> home();
  /// Where a module runs. `text` is PTX, or machine code.
  Result<std::shared_ptr<Executor>> forModule(const std::string &text);

  Result<void *> allocate(uint64_t bytes, bool shared);
  Status free(void *address);
  Status registerHost(void *address, uint64_t bytes);
  Status unregisterHost(void *address);

  /// A kernel ran on the device. Which bytes it wrote the other simulators
  /// cannot know; they take all that it could write for written.
  void launched(Executor &device);

  Result<ModuleHandle *> load(const std::string &text);
  Status unload(void *module);
  Result<FunctionHandle *> function(void *module, const char *name);
  Result<void *> createStream();
  Status destroyStream(void *stream);
  /// Null is a stream too, shared by all who give it. What it has under way on
  /// other simulators is ended first.
  Result<Stream *> stream(void *handle, Executor &device);
  /// Calls `of` for each simulator's part of the stream, at least the home
  /// device's. The first failure.
  Status onEach(void *stream,
                const std::function<Status(Executor &, Stream &)> &of);
  Result<void *> createEvent();
  Status destroyEvent(void *event);
  Result<EventHandle *> event(void *handle);
  Result<FunctionHandle *> checkedFunction(void *handle);

  static thread_local int32_t ordinal; // mgpuSetDefaultDevice

  /// Waits for all that is under way; reports what nobody was told.
  void finish();

private:
  Result<std::shared_ptr<Executor>> open(const std::string &name);
  Result<std::shared_ptr<Executor>> simulator(const std::string &name);

  std::recursive_mutex mutex;
  std::map<std::string, std::shared_ptr<Executor>> devices;
  std::map<std::string, Error> unavailable; // cards that were looked for
  std::shared_ptr<Executor> first; // of the simulators chosen by module
  std::map<void *, uint64_t> memory, registered; // shared among simulators
  std::map<void *, std::unique_ptr<ModuleHandle>> modules;
  std::map<void *, std::unique_ptr<FunctionHandle>> functions;
  std::map<void *, std::unique_ptr<StreamHandle>> streams;
  std::map<void *, std::unique_ptr<EventHandle>> events;
};

/// Stands in each entry point while it runs.
struct Call {
  Call();
  ~Call();
};

/// Prints to stderr and lets the process exit with 1 in the end.
void report(const char *function, const Error &error);

} // namespace act::runtime::mgpu
#endif
