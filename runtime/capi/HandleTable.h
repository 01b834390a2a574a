// SPDX-License-Identifier: Apache-2.0
//
// The runtime's handles (act/CInterface/HandleTable.h), and their objects.
#ifndef ACT_RUNTIME_CAPI_HANDLETABLE_H
#define ACT_RUNTIME_CAPI_HANDLETABLE_H
#include "runtime/capi/Errors.h"
#include "runtime/step/LoadedStep.h"

namespace act::runtime {

enum class Kind : uint8_t { Device, Module, Function, Stream, Event, Step };

// Members are destroyed from the last to the first: the device goes last.
struct ModuleObject {
  std::shared_ptr<Executor> device;
  std::unique_ptr<Module> module;
};
struct FunctionObject {
  std::shared_ptr<ModuleObject> module;
  Kernel *kernel;
};
struct StreamObject {
  std::shared_ptr<Executor> device;
  std::unique_ptr<Stream> stream;
  // Recursive: on devices that run work immediately, a callback runs under the
  // lock and may use its own stream.
  std::recursive_mutex mutex;
};
struct EventObject {
  std::shared_ptr<Executor> device;
  std::unique_ptr<Event> event;
};

void *addHandle(Kind kind, std::shared_ptr<void> object);
/// Null, with the error recorded, unless the handle is live and of this kind.
std::shared_ptr<void> findHandle(Kind kind, const void *handle);
actrt_status releaseHandle(Kind kind, const void *handle);

template <typename T> std::shared_ptr<T> find(Kind kind, const void *handle) {
  return std::static_pointer_cast<T>(findHandle(kind, handle));
}
inline std::shared_ptr<Executor> findDevice(actrt_device h) {
  return find<Executor>(Kind::Device, h);
}
inline std::shared_ptr<LoadedStep> findStep(actrt_step h) {
  return find<LoadedStep>(Kind::Step, h);
}

} // namespace act::runtime
#endif
