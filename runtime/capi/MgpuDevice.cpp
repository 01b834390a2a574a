// SPDX-License-Identifier: Apache-2.0
//
// Which device a program of MLIR uses, and the handles it holds. Several
// simulators may be open at once, one for each target of the program's modules.
// They share memory: what one allocates is registered with the others.
#include "runtime/capi/MgpuDevice.h"
#include "runtime/FatBinary.h"
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <iostream>
#include <unistd.h>

using namespace act;
using namespace act::runtime;
using namespace act::runtime::mgpu;

thread_local int32_t Devices::ordinal = 0;

// ---- Failures --------------------------------------------------------------

static std::atomic<bool> failed{false};

void mgpu::report(const char *function, const Error &error) {
  fprintf(stderr, "'%s' failed: %s\n", function, error.str().c_str());
  if (failed.exchange(true))
    return;
  // A runner may unload its libraries early. Pin this one, so that its
  // destructor below runs at process exit.
  Dl_info self;
  if (dladdr(reinterpret_cast<void *>(&mgpu::report), &self) && self.dli_fname)
    dlopen(self.dli_fname, RTLD_NOW | RTLD_NODELETE | RTLD_NOLOAD);
}

static std::atomic<bool> inUse{false};
static std::atomic<int> calls{0};
mgpu::Call::Call() { ++calls; }
mgpu::Call::~Call() { --calls; }

// Runs when the library is finalised, after all the program's atexit handlers,
// so its output is complete.
__attribute__((destructor)) static void exitAsFailure() {
  // Skipped while another thread is still inside a call.
  if (inUse && !calls)
    Devices::get().finish();
  if (!failed)
    return;
  std::cout.flush();
  fflush(nullptr);
  _exit(1);
}

// ---- Devices ---------------------------------------------------------------

Devices &Devices::get() {
  static auto *devices = new Devices;
  return *devices;
}

// "sim:sm_80,seed=3": a device and options. Programs that use these entry
// points have no other way to set them.
static Result<std::shared_ptr<Executor>>
openWithOptions(const std::string &text) {
  DeviceOptions options;
  options.maximumInstructions = 1000000000; // as in actrt-sim
  size_t end = text.find(',');
  const std::string name = text.substr(0, end);
  while (end != std::string::npos) {
    size_t begin = end + 1;
    end = text.find(',', begin);
    std::string word = text.substr(begin, end - begin);
    size_t equals = word.find('=');
    std::string key = word.substr(0, equals),
                value =
                    equals == std::string::npos ? "" : word.substr(equals + 1);
    uint64_t number = 0;
    auto [stop, error] =
        std::from_chars(value.data(), value.data() + value.size(), number);
    bool isNumber = !value.empty() && error == std::errc() &&
                    stop == value.data() + value.size();
    if (key == "max-instructions" && isNumber)
      options.maximumInstructions = number;
    else if (key == "seed" && isNumber)
      options.seed = number;
    else if (key == "checks" && (value == "all" || value == "none"))
      options.checks = value == "all";
    else if (key == "benign" && value == "error")
      options.benignFails = true;
    else if (word == "strict")
      options.strict = true;
    else
      return Error{
          "ACT_DEVICE has '" + word +
              "', expected max-instructions=N, seed=N, checks=all|none, "
              "benign=error or strict after the device",
          ""};
  }
  if (text != name && name.compare(0, 4, "sim:") != 0)
    return Error{"ACT_DEVICE has options after '" + name +
                     "', which only a simulator takes",
                 ""};
  return openDevice(name, options);
}

Result<std::shared_ptr<Executor>> Devices::open(const std::string &name) {
  // Failures are cached: the search for a driver reads the file system.
  if (auto it = unavailable.find(name); it != unavailable.end())
    return it->second;
  auto &slot = devices[name];
  if (slot)
    return slot;
  auto opened = openWithOptions(name);
  inUse = inUse || opened;
  if (opened && (*opened)->info().kind == "host")
    opened = Error{"ACT_DEVICE is host, which runs no GPU modules", ""};
  if (!opened) {
    devices.erase(name);
    unavailable.emplace(name, opened.error());
    return opened.error();
  }
  slot = *opened;
  return slot;
}

// The device that ACT_DEVICE names. If unset, an error whose message is the
// name of the card to try first.
static Result<std::string> chosenDevice(int32_t ordinal) {
  const char *given = getenv("ACT_DEVICE");
  if (given && *given)
    return std::string(given);
  return Error{"cuda:" + std::to_string(ordinal), ""};
}

// A simulator that opens later gets all memory that exists by then.
Result<std::shared_ptr<Executor>> Devices::simulator(const std::string &name) {
  bool isNew = devices.count(name) == 0;
  auto device = open(name);
  if (!device)
    return device;
  if (!first)
    first = *device;
  if (isNew && *device != first)
    for (auto *list : {&memory, &registered})
      for (auto &[address, bytes] : *list)
        if (auto s = (*device)->registerHost(address, bytes); !s)
          return s.error();
  return device;
}

Result<std::shared_ptr<Executor>> Devices::home() {
  std::lock_guard lock(mutex);
  auto name = chosenDevice(ordinal);
  if (name)
    return open(*name);
  if (auto card = open(name.error().message))
    return card;
  return first ? first : simulator("sim:sm_80");
}

// A card if ACT_DEVICE names one or there is one, else a simulator that runs
// the module's target.
Result<std::shared_ptr<Executor>> Devices::forModule(const std::string &text) {
  std::lock_guard lock(mutex);
  auto name = chosenDevice(ordinal);
  if (name)
    return open(*name);
  if (auto card = open(name.error().message))
    return card;
  auto target = simulatorFor(text);
  if (!target)
    return target.error();
  return simulator(*target);
}

// ---- Memory ----------------------------------------------------------------

Result<void *> Devices::allocate(uint64_t bytes, bool shared) {
  std::lock_guard lock(mutex);
  auto device = home();
  if (!device)
    return device.error();
  auto p =
      shared ? (*device)->allocateShared(bytes) : (*device)->allocate(bytes);
  if (!p || *device != first)
    return p;
  memory[*p] = bytes;
  for (auto &[name, other] : devices)
    if (other != first)
      if (auto s = other->registerHost(*p, bytes); !s)
        return s.error();
  return p;
}

Status Devices::free(void *address) {
  std::lock_guard lock(mutex);
  auto device = home();
  if (!device)
    return device.error();
  if (memory.erase(address))
    for (auto &[name, other] : devices)
      if (other != first)
        if (auto s = other->unregisterHost(address); !s)
          return s;
  return (*device)->free(address);
}

Status Devices::registerHost(void *address, uint64_t bytes) {
  std::lock_guard lock(mutex);
  auto device = home();
  if (!device)
    return device.error();
  if (*device != first)
    return (*device)->registerHost(address, bytes);
  for (auto &[name, one] : devices)
    if (auto s = one->registerHost(address, bytes); !s)
      return s;
  registered[address] = bytes;
  return ok();
}

Status Devices::unregisterHost(void *address) {
  std::lock_guard lock(mutex);
  auto device = home();
  if (!device)
    return device.error();
  if (*device != first)
    return (*device)->unregisterHost(address);
  for (auto &[name, one] : devices)
    if (auto s = one->unregisterHost(address); !s)
      return s;
  registered.erase(address);
  return ok();
}

// ---- Handles ---------------------------------------------------------------

void Devices::launched(Executor &device) {
  std::lock_guard lock(mutex);
  if (!first)
    return;
  for (auto &[name, other] : devices)
    if (other.get() != &device)
      for (auto &[address, bytes] : memory)
        other->writtenByOthers(address, bytes);
}

template <typename T>
static Result<T *> lookUp(std::map<void *, std::unique_ptr<T>> &table,
                          void *handle, const char *what) {
  auto it = table.find(handle);
  if (it == table.end())
    return Error{std::string("the handle is not a live ") + what +
                     (handle ? "" : " (it is null)"),
                 ""};
  return it->second.get();
}

template <typename T>
static T *add(std::map<void *, std::unique_ptr<T>> &table,
              std::unique_ptr<T> object) {
  T *p = object.get();
  table[p] = std::move(object);
  return p;
}

template <typename T>
static Status drop(std::map<void *, std::unique_ptr<T>> &table, void *handle,
                   const char *what) {
  if (auto p = lookUp(table, handle, what); !p)
    return p.error();
  table.erase(handle);
  return ok();
}

Result<ModuleHandle *> Devices::load(const std::string &text) {
  std::lock_guard lock(mutex);
  auto device = forModule(text);
  if (!device)
    return device.error();
  auto module = (*device)->loadModule(text.data(), text.size(), false);
  if (!module)
    return module.error();
  auto handle = std::make_unique<ModuleHandle>();
  handle->device = *device;
  handle->module = std::move(*module);
  return add(modules, std::move(handle));
}

// Its functions' handles go with it, so a later launch finds no handle instead
// of a kernel that is gone.
Status Devices::unload(void *module) {
  std::lock_guard lock(mutex);
  auto m = lookUp(modules, module, "module");
  if (!m)
    return m.error();
  Status ended = (*m)->device->synchronize(); // its kernels may still run
  for (auto it = functions.begin(); it != functions.end();)
    it = it->second->module == module ? functions.erase(it) : std::next(it);
  auto dropped = drop(modules, module, "module");
  return ended ? dropped : ended;
}

void Devices::finish() {
  std::lock_guard lock(mutex);
  for (auto &[name, device] : devices)
    if (auto s = device->synchronize(); !s)
      report("exit", s.error());
}

// One handle per kernel: programs look up a function before every launch and
// never release it.
Result<FunctionHandle *> Devices::function(void *module, const char *name) {
  std::lock_guard lock(mutex);
  auto m = lookUp(modules, module, "module");
  if (!m)
    return m.error();
  auto kernel = (*m)->module->kernel(name);
  if (!kernel)
    return kernel.error();
  auto &slot = functions[*kernel];
  if (!slot)
    slot = std::make_unique<FunctionHandle>(FunctionHandle{*m, *kernel});
  return slot.get();
}

Result<FunctionHandle *> Devices::checkedFunction(void *handle) {
  std::lock_guard lock(mutex);
  for (auto &[kernel, f] : functions)
    if (f.get() == handle)
      return f.get();
  return Error{std::string("the handle is not a live function") +
                   (handle ? "" : " (it is null)"),
               ""};
}

Result<void *> Devices::createStream() {
  std::lock_guard lock(mutex);
  if (auto device = home(); !device)
    return device.error();
  return static_cast<void *>(add(streams, std::make_unique<StreamHandle>()));
}

Status Devices::destroyStream(void *stream) {
  std::lock_guard lock(mutex);
  return drop(streams, stream, "stream");
}

// Work of one stream is in order, also when it moves to another simulator: the
// parts of the stream on others finish first.
Result<Stream *> Devices::stream(void *handle, Executor &device) {
  std::lock_guard lock(mutex);
  if (!handle && !streams.count(nullptr))
    streams[nullptr] = std::make_unique<StreamHandle>();
  auto s = lookUp(streams, handle, "stream");
  if (!s)
    return s.error();
  for (auto &[other, stream] : (*s)->streams)
    if (other != &device)
      if (auto ended = stream->synchronize(); !ended)
        return ended.error();
  auto &slot = (*s)->streams[&device];
  if (!slot) {
    auto created = device.createStream();
    if (!created)
      return created.error();
    slot = std::move(*created);
  }
  return slot.get();
}

Status Devices::onEach(void *handle,
                       const std::function<Status(Executor &, Stream &)> &of) {
  std::vector<std::pair<Executor *, Stream *>> parts;
  {
    std::lock_guard lock(mutex);
    auto device = home();
    if (!device)
      return device.error();
    if (!handle)
      if (auto s = stream(handle, **device); !s)
        return s.error();
    auto s = lookUp(streams, handle, "stream");
    if (!s)
      return s.error();
    for (auto &[executor, part] : (*s)->streams)
      parts.push_back({executor, part.get()});
  }
  Status all = ok();
  for (auto &[executor, part] : parts)
    if (auto s = of(*executor, *part); !s && all)
      all = s;
  return all;
}

Result<void *> Devices::createEvent() {
  std::lock_guard lock(mutex);
  auto device = home();
  if (!device)
    return device.error();
  auto event = (*device)->createEvent();
  if (!event)
    return event.error();
  auto handle = std::make_unique<EventHandle>();
  handle->device = *device;
  handle->event = std::move(*event);
  return static_cast<void *>(add(events, std::move(handle)));
}

Status Devices::destroyEvent(void *event) {
  std::lock_guard lock(mutex);
  return drop(events, event, "event");
}

Result<EventHandle *> Devices::event(void *handle) {
  std::lock_guard lock(mutex);
  return lookUp(events, handle, "event");
}
