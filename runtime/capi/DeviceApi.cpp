// SPDX-License-Identifier: Apache-2.0
//
// Devices, memory, modules and functions of the C interface.
#include "runtime/capi/HandleTable.h"

using namespace act;
using namespace act::runtime;

static actrt_status nullArgument(const char *what) {
  return fail(ACTRT_INVALID_ARGUMENT, std::string(what) + " is null");
}

/// Copies text into a fixed field and cuts what does not fit; the field always
/// ends in a zero.
static void copyName(char *to, size_t size, const std::string &from) {
  size_t n = std::min(size - 1, from.size());
  std::memcpy(to, from.data(), n);
  to[n] = '\0';
}

actrt_status actrt_device_open(const char *name,
                               const actrt_device_options *options,
                               actrt_device *device) {
  if (!name || !device)
    return nullArgument("the device's name or handle");
  return guarded([&]() -> actrt_status {
    DeviceOptions o;
    // A caller built with an older header has a smaller struct. The fields that
    // it lacks read as zero, which is every option's default.
    actrt_device_options given = readStruct(options);
    o.threads = given.threads;
    o.checks = !given.without_checks;
    o.strict = given.strict;
    o.seed = given.seed;
    o.drawsRounding = !given.orders_only;
    o.benignFails = given.benign_fails;
    o.maximumInstructions = given.max_instructions;
    auto executor = openDevice(name, o);
    if (!executor)
      return fail(ACTRT_NOT_FOUND, executor.error().str());
    *device = static_cast<actrt_device>(addHandle(Kind::Device, *executor));
    return ACTRT_SUCCESS;
  });
}

actrt_status actrt_device_release(actrt_device device) {
  return releaseHandle(Kind::Device, device);
}

actrt_status actrt_device_query(actrt_device device, actrt_device_info *info) {
  return guarded([&]() -> actrt_status {
    auto d = findDevice(device);
    if (!d)
      return ACTRT_INVALID_HANDLE;
    DeviceInfo i = d->info();
    actrt_device_info full{};
    copyName(full.name, sizeof full.name, i.name);
    copyName(full.kind, sizeof full.kind, i.kind);
    full.threads = i.threads;
    full.host_addressable = i.hostAddressable;
    full.memory_bytes = i.memoryBytes;
    copyName(full.target, sizeof full.target, i.target);
    full.multiprocessors = i.multiprocessors;
    full.shared_bytes_per_block = i.sharedBytesPerBlock;
    FreeMemory free = d->freeMemory();
    full.free_bytes = free.bytes;
    copyName(full.free_limit, sizeof full.free_limit, free.limit);
    return fillStruct(info, full);
  });
}

actrt_status actrt_device_findings(actrt_device device, uint64_t *count,
                                   char *text, size_t *bytes) {
  return guarded([&]() -> actrt_status {
    auto d = findDevice(device);
    if (!d)
      return ACTRT_INVALID_HANDLE;
    if (!count || !bytes || (!text && *bytes != 0))
      return nullArgument("a pointer for the findings");
    Findings f = d->findings();
    *count = f.count;
    if (*bytes != 0)
      copyName(text, *bytes, f.text);
    // The size of the whole text, even if it was cut: a caller can ask for the
    // size first and call again with enough memory.
    *bytes = f.text.size() + 1;
    return ACTRT_SUCCESS;
  });
}

actrt_status actrt_device_clear_findings(actrt_device device) {
  return guarded([&]() -> actrt_status {
    auto d = findDevice(device);
    if (!d)
      return ACTRT_INVALID_HANDLE;
    d->clearFindings();
    return ACTRT_SUCCESS;
  });
}

actrt_status actrt_allocate(actrt_device device, uint64_t bytes,
                            void **address) {
  return guarded([&]() -> actrt_status {
    auto d = findDevice(device);
    if (!d)
      return ACTRT_INVALID_HANDLE;
    if (!address)
      return nullArgument("the address to fill in");
    auto p = d->allocate(bytes);
    if (!p)
      return fail(ACTRT_FAILED, p.error().str());
    *address = *p;
    return ACTRT_SUCCESS;
  });
}

actrt_status actrt_free(actrt_device device, void *address) {
  return guarded([&]() -> actrt_status {
    auto d = findDevice(device);
    if (!d)
      return ACTRT_INVALID_HANDLE;
    // After an export to DLPack the consumer may still use the memory. Only the
    // tensor's deleter knows when it no longer does.
    if (d->isLent(address))
      return invalid("the allocation belongs to a DLPack tensor, whose deleter "
                     "frees it");
    auto s = d->free(address);
    return s ? ACTRT_SUCCESS : fail(ACTRT_INVALID_ARGUMENT, s.error().str());
  });
}

actrt_status actrt_memory_query(actrt_device device, actrt_memory_info *info) {
  return guarded([&]() -> actrt_status {
    auto d = findDevice(device);
    if (!d)
      return ACTRT_INVALID_HANDLE;
    MemoryStatistics m = d->statistics();
    actrt_memory_info full{};
    full.current_bytes = m.current;
    full.peak_bytes = m.peak;
    full.allocations = m.allocations;
    return fillStruct(info, full);
  });
}

actrt_status actrt_memory_reset_peak(actrt_device device) {
  return guarded([&]() -> actrt_status {
    auto d = findDevice(device);
    if (!d)
      return ACTRT_INVALID_HANDLE;
    d->resetPeak();
    return ACTRT_SUCCESS;
  });
}

actrt_status actrt_module_load(actrt_device device, const void *data,
                               size_t bytes, uint32_t flags,
                               actrt_module *module) {
  return guarded([&]() -> actrt_status {
    auto d = findDevice(device);
    if (!d)
      return ACTRT_INVALID_HANDLE;
    if (!data || !module)
      return nullArgument("the module's data or handle");
    auto m = d->loadModule(data, bytes, flags & ACTRT_ALLOW_NATIVE);
    if (!m)
      return fail(ACTRT_FAILED, m.error().str());
    // The objects hold what they need: a function its module, a module its
    // device. So handles may be released in any order.
    auto object = std::make_shared<ModuleObject>();
    object->device = d;
    object->module = std::move(*m);
    *module = static_cast<actrt_module>(addHandle(Kind::Module, object));
    return ACTRT_SUCCESS;
  });
}

actrt_status actrt_module_release(actrt_module module) {
  return releaseHandle(Kind::Module, module);
}

actrt_status actrt_function_get(actrt_module module, const char *name,
                                actrt_function *function) {
  return guarded([&]() -> actrt_status {
    auto m = find<ModuleObject>(Kind::Module, module);
    if (!m)
      return ACTRT_INVALID_HANDLE;
    if (!name || !function)
      return nullArgument("the function's name or handle");
    auto kernel = m->module->kernel(name);
    if (!kernel)
      return fail(ACTRT_NOT_FOUND, kernel.error().str());
    auto object = std::make_shared<FunctionObject>(FunctionObject{m, *kernel});
    *function = static_cast<actrt_function>(addHandle(Kind::Function, object));
    return ACTRT_SUCCESS;
  });
}

actrt_status actrt_function_release(actrt_function function) {
  return releaseHandle(Kind::Function, function);
}

actrt_status actrt_function_query(actrt_function function,
                                  actrt_function_info *info) {
  return guarded([&]() -> actrt_status {
    auto f = find<FunctionObject>(Kind::Function, function);
    if (!f)
      return ACTRT_INVALID_HANDLE;
    KernelAttributes a = f->kernel->attributes();
    actrt_function_info full{};
    full.max_threads_per_block = a.maxThreadsPerBlock;
    full.registers = a.registers;
    full.shared_bytes = a.sharedBytes;
    full.local_bytes = a.localBytes;
    std::copy(a.requiredBlock, a.requiredBlock + 3, full.required_block);
    std::copy(a.requiredCluster, a.requiredCluster + 3, full.required_cluster);
    return fillStruct(info, full);
  });
}

actrt_status actrt_module_global(actrt_module module, const char *name,
                                 void **address, uint64_t *bytes) {
  return guarded([&]() -> actrt_status {
    auto m = find<ModuleObject>(Kind::Module, module);
    if (!m)
      return ACTRT_INVALID_HANDLE;
    if (!name || !address || !bytes)
      return nullArgument("the variable's name, address or size");
    auto v = m->module->variable(name);
    if (!v)
      return fail(ACTRT_NOT_FOUND, v.error().str());
    *address = v->address;
    *bytes = v->bytes;
    return ACTRT_SUCCESS;
  });
}
