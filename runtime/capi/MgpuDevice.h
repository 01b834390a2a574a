// SPDX-License-Identifier: Apache-2.0
//
// The device behind the mgpu* entry points, and the handling of their failures.
//
// Choice of device. ACT_DEVICE names it: "cuda:0", "sim:sm_90a", or a simulator
// with options: "sim:sm_80,seed=3,max-instructions=0". Without it, the card of
// mgpuSetDefaultDevice is used if there is a driver. Else each module runs on
// the lowest simulated architecture that its `.target` is compatible with. One
// program may then use several simulators: memory allocated by one of them is
// registered with all, so any kernel accepts any pointer.
//
// Failures. The entry points have no error results. Like upstream's, they print
// to stderr and continue. But a program whose kernel did not run, or ran with a
// finding, must not look successful. So the process then exits with 1, whatever
// its own status, after its exit handlers and with its output flushed.
#ifndef ACT_RUNTIME_CAPI_MGPUDEVICE_H
#define ACT_RUNTIME_CAPI_MGPUDEVICE_H
#include "runtime/Executor.h"
#include <functional>
#include <map>
#include <mutex>
#include <set>

namespace act::runtime::mgpu {

/// The program's handle of a module, function, stream or event is its address,
/// which is looked up before it is dereferenced.
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

  /// The device of memory and events: the only one, or the first of several
  /// simulators.
  Result<std::shared_ptr<Executor>> home();
  /// The device that runs a module. `text` is PTX or machine code.
  Result<std::shared_ptr<Executor>> forModule(const std::string &text);

  Result<void *> allocate(uint64_t bytes, bool shared);
  Status free(void *address);
  Status registerHost(void *address, uint64_t bytes);
  Status unregisterHost(void *address);

  /// Notes that a kernel ran on the device. The other simulators cannot know
  /// which bytes it wrote, so they treat all shared memory as written.
  void launched(Executor &device);

  Result<ModuleHandle *> load(const std::string &text);
  Status unload(void *module);
  Result<FunctionHandle *> function(void *module, const char *name);
  Result<void *> createStream();
  Status destroyStream(void *stream);
  /// The stream's part on `device`, once its work on other simulators is done.
  /// A null handle is one stream, shared by all callers.
  Result<Stream *> stream(void *handle, Executor &device);
  /// Calls `of` for each simulator's part of the stream, at least the home
  /// device's. Returns the first failure.
  Status onEach(void *stream,
                const std::function<Status(Executor &, Stream &)> &of);
  Result<void *> createEvent();
  Status destroyEvent(void *event);
  Result<EventHandle *> event(void *handle);
  Result<FunctionHandle *> checkedFunction(void *handle);

  static thread_local int32_t ordinal; // mgpuSetDefaultDevice

  /// Waits for all pending work; reports errors that no call has returned.
  void finish();

private:
  Result<std::shared_ptr<Executor>> open(const std::string &name);
  Result<std::shared_ptr<Executor>> simulator(const std::string &name);

  std::recursive_mutex mutex;
  std::map<std::string, std::shared_ptr<Executor>> devices;
  std::map<std::string, Error> unavailable; // cached failures to open
  std::shared_ptr<Executor> first; // of the simulators chosen by module
  std::map<void *, uint64_t> memory, registered; // shared among simulators
  std::map<void *, std::unique_ptr<ModuleHandle>> modules;
  std::map<void *, std::unique_ptr<FunctionHandle>> functions;
  std::map<void *, std::unique_ptr<StreamHandle>> streams;
  std::map<void *, std::unique_ptr<EventHandle>> events;
};

/// Lives in each entry point while it runs.
struct Call {
  Call();
  ~Call();
};

/// Prints to stderr and makes the process exit with 1 at its end.
void report(const char *function, const Error &error);

} // namespace act::runtime::mgpu
#endif
