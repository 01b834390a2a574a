// SPDX-License-Identifier: Apache-2.0
//
// Loads a step: allocates all its memory, finds its kernels, and fills in every
// address that does not depend on a binding.
#include "act/Artifact/Format.h"
#include "act/Artifact/Memory.h"
#include "act/Artifact/Types.h"
#include "act/Parallel/Parallel.h"
#include "runtime/step/LoadedStep.h"
#include <algorithm>
#include <sys/mman.h>

using namespace act;
using namespace act::runtime;
using namespace act::artifact;

LoadedStep::LoadedStep(std::shared_ptr<Executor> executor, Step step,
                       const StepOptions &options)
    : executor(std::move(executor)), data(std::move(step)), options(options) {}

LoadedStep::~LoadedStep() {
  releaseStaging();
  if (hostArena) {
    (void)executor->unregisterHost(hostArena);
    munmap(hostArena, hostArenaSize);
  }
  // Failures are ignored here; the device frees the rest itself.
  if (!options.bindTensors)
    for (auto *list : {&parameters, &states})
      for (void *p : *list)
        (void)executor->free(p);
  for (void *p : {static_cast<void *>(arena), static_cast<void *>(deviceSlots)})
    if (p)
      (void)executor->free(p);
  auto freeStaged = [&](std::vector<Bound> &list) {
    for (Bound &b : list)
      if (b.staged)
        (void)executor->free(b.staged);
  };
  for (Prepared &p : functions)
    for (auto &list : p.ports)
      freeStaged(list);
  for (auto &list : boundTensors)
    freeStaged(list);
}

Result<std::unique_ptr<LoadedStep>>
LoadedStep::load(std::shared_ptr<Executor> executor, Step step,
                 const StepOptions &options) {
  if (auto s = validate(step); !s)
    return s.error();
  DeviceInfo info = executor->info();
  bool fits = step.device == "cuda" ? info.kind == "cuda" || info.kind == "sim"
                                    : info.kind == step.device;
  if (!fits)
    return Error{"the step was compiled for device " + step.device +
                     ", but this device is " + info.name,
                 ""};
  std::unique_ptr<LoadedStep> loaded(
      new LoadedStep(std::move(executor), std::move(step), options));
  if (!options.anyMemory)
    if (auto s = loaded->checkMemory(); !s)
      return s.error();
  if (auto s = loaded->prepare(); !s)
    return s.error();
  return loaded;
}

/// Threads that convert and copy values. A card's info counts its own threads,
/// which are not the host's.
unsigned LoadedStep::threads() const {
  DeviceInfo info = executor->info();
  return info.kind == "cuda" ? availableCores() : info.threads;
}

// Reports a lack of memory before gigabytes are touched and the system kills
// the process.
Status LoadedStep::checkMemory() const {
  DeviceInfo info = executor->info();
  StepMemory need = memoryOf(data, info.kind == "host" ? info.threads : 0);
  if (options.bindTensors && info.hostAddressable)
    need.parameters = need.gradients = need.optimizer = 0;
  FreeMemory free = executor->freeMemory(), host = freeHostMemory();
  auto lacks = [&](uint64_t bytes, const std::string &where,
                   const FreeMemory &has) {
    return Error{"the step needs " + need.text() + "; " +
                     std::to_string(bytes) + " of them " + where +
                     ", which has " + std::to_string(has.bytes) + " free (" +
                     has.limit + ")",
                 ""};
  };
  // A card has its own memory; the host arena is not in it.
  const bool card = info.kind == "cuda";
  uint64_t there = card ? need.onDevice() : need.total();
  if (there > free.bytes)
    return lacks(there, "on device " + info.name, free);
  if (card && need.hostArena > host.bytes)
    return lacks(need.hostArena, "on the host", host);
  return ok();
}

// CPU memory on every device; registered with it, so that copies are fast.
Status LoadedStep::allocateHostArena() {
  for (const Function &f : data.functions)
    hostArenaSize = std::max(hostArenaSize, f.hostArenaBytes);
  hostArenaSize = (hostArenaSize + 4095) / 4096 * 4096;
  if (hostArenaSize == 0)
    return ok();
  void *memory = mmap(nullptr, hostArenaSize, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return Error{"cannot allocate " + std::to_string(hostArenaSize) +
                     " bytes for the arena on the host",
                 ""};
  if (auto s = executor->registerHost(memory, hostArenaSize); !s) {
    munmap(memory, hostArenaSize);
    return s;
  }
  hostArena = static_cast<uint8_t *>(memory);
  return ok();
}

/// Loads images, and the code if a kernel is left without one.
Status LoadedStep::loadCode() {
  if (!data.kernels.empty() && data.code.empty())
    return Error{"the step has kernels but no code", ""};
  const bool takesImages = executor->info().kind == "cuda";
  std::string refusal; // of the first image that is not taken
  bool needsCode = data.kernels.empty() && !data.code.empty();
  images.resize(data.kernels.size());
  for (size_t i = 0; i < images.size(); ++i) {
    const artifact::Kernel &k = data.kernels[i];
    if (takesImages && k.imageBytes > 0) {
      auto image = executor->loadModule(data.images.data() + k.imageOffset,
                                        k.imageBytes, options.allowNative);
      if (image)
        images[i] = std::move(*image);
      else if (refusal.empty())
        refusal = "; kernel '" + k.symbol +
                  "' has an image: " + image.error().message;
    }
    needsCode |= !images[i];
  }
  if (needsCode) {
    auto m = executor->loadModule(data.code.data(), data.code.size(),
                                  options.allowNative);
    if (!m)
      return Error{m.error().message + refusal, m.error().where};
    module = std::move(*m);
  }
  // Modules have their own copies; a step may have megabytes of code.
  std::vector<uint8_t>().swap(data.code);
  std::vector<uint8_t>().swap(data.images);
  return ok();
}

Result<runtime::Kernel *> LoadedStep::kernelOf(uint32_t number) {
  Module &from = images[number] ? *images[number] : *module;
  return from.kernel(data.kernels[number].symbol);
}

/// The order matters: launches take addresses of parameters, states, both
/// arenas and the slots, so those are allocated before the functions are
/// prepared.
Status LoadedStep::prepare() {
  if (auto s = loadCode(); !s)
    return s;
  auto created = executor->createStream();
  if (!created)
    return created.error();
  stream = std::move(*created);
  direct = executor->info().hostAddressable;
  auto allocate = [&](const std::string &name, const TensorType &type,
                      std::vector<void *> &list, uint64_t &sum) -> Status {
    if (options.bindTensors)
      return ok();
    uint64_t bytes = *byteSize(type);
    auto p = executor->allocate(bytes);
    if (!p)
      return Error{
          p.error().message + " for '" + name + "'; the step needs " +
              memoryOf(data, direct ? executor->info().threads : 0).text(),
          ""};
    list.push_back(*p);
    sum += bytes;
    return ok();
  };
  if (options.bindTensors) {
    parameters.resize(data.parameters.size());
    states.resize(data.states.size());
    boundTensors[0].resize(parameters.size());
    boundTensors[1].resize(states.size());
  }
  for (const Parameter &p : data.parameters)
    if (auto s = allocate(p.name, p.type, parameters, allocated.parameterBytes);
        !s)
      return s;
  for (const State &s : data.states)
    if (auto status =
            allocate(s.name, s.type, states,
                     s.role == Role::Gradient ? allocated.gradientBytes
                                              : allocated.optimizerBytes);
        !status)
      return status;
  for (const Function &f : data.functions)
    arenaSize = std::max(arenaSize, f.arenaBytes);
  arenaSize = (arenaSize + 4095) / 4096 * 4096;
  auto p = executor->allocate(arenaSize);
  if (!p)
    return p.error();
  arena = static_cast<uint8_t *>(*p);
  if (auto s = allocateHostArena(); !s)
    return s;
  // One slot for each scalar and each constant. The vector gets its final size
  // here, because launches keep pointers into it.
  scalarSet.resize(data.scalars.size());
  size_t slotCount = data.scalars.size();
  for (const Function &f : data.functions)
    for (const auto &launch : f.launches)
      for (const Operand &o : launch.args)
        slotCount += o.space == Space::Immediate;
  slots.resize(std::max<size_t>(slotCount, 1));
  if (!direct) {
    auto memory = executor->allocate(8 * slots.size());
    if (!memory)
      return memory.error();
    deviceSlots = static_cast<uint8_t *>(*memory);
  }
  functions.resize(data.functions.size());
  for (size_t i = 0; i < functions.size(); ++i)
    if (auto s = prepare(data.functions[i], functions[i]); !s)
      return Error{"function '" + data.functions[i].name +
                       "': " + s.error().message,
                   ""};
  return ok();
}

Result<void *> LoadedStep::addressOf(const Operand &o) {
  switch (o.space) {
  case Space::Arena:
    return static_cast<void *>(arena + o.offset);
  case Space::Host:
    return static_cast<void *>(hostArena + o.offset);
  case Space::Parameter:
  case Space::State: {
    auto *base = static_cast<uint8_t *>(
        (o.space == Space::State ? states : parameters)[o.index]);
    return base ? static_cast<void *>(base + o.offset) : nullptr;
  }
  case Space::Scalar:
  case Space::Immediate: {
    size_t slot = o.index;
    if (o.space == Space::Immediate) {
      slot = data.scalars.size() + constants++;
      slots[slot] = o.offset;
    }
    return direct ? static_cast<void *>(&slots[slot])
                  : static_cast<void *>(deviceSlots + 8 * slot);
  }
  case Space::Input:
  case Space::Output:
    break;
  }
  return static_cast<void *>(nullptr); // filled in by bind
}

static LaunchShape shapeOf(const artifact::Kernel &k) {
  LaunchShape shape;
  shape.grid[0] = k.grid;
  shape.block[0] = std::max(1u, k.threads);
  shape.sharedBytes = k.sharedBytes;
  shape.scratchBytes = k.scratchBytes;
  shape.persistent = k.persistent;
  shape.atOnce = k.atOnce;
  if (k.cluster)
    shape.cluster[0] = k.cluster, shape.cluster[1] = shape.cluster[2] = 1;
  return shape;
}

/// A map holds the address of its tensor.
Status LoadedStep::encode(Prepared &p, size_t i) {
  const Mapped &m = p.mapped[i];
  auto map = executor->encodeTensorMap(
      tiledTensor(*m.map, reinterpret_cast<uint64_t>(p.arguments[m.of])));
  if (!map)
    return map.error();
  p.maps[i] = *map;
  return ok();
}

static std::optional<Bindable> bindableOf(Space space, bool tensors) {
  switch (space) {
  case Space::Input:
    return Bindable::Input;
  case Space::Output:
    return Bindable::Output;
  case Space::Parameter:
    return tensors ? std::optional(Bindable::Parameter) : std::nullopt;
  case Space::State:
    return tensors ? std::optional(Bindable::State) : std::nullopt;
  default:
    return std::nullopt;
  }
}

/// Resolves a function's launches to kernels and addresses. Operands that are
/// bound stay null; their patches say what bind() fills in.
Status LoadedStep::prepare(const Function &f, Prepared &p) {
  for (int output = 0; output < 2; ++output)
    p.ports[output].resize((output ? f.outputs : f.inputs).size());
  std::vector<bool> read(data.scalars.size());
  std::vector<bool> used[2] = {std::vector<bool>(f.inputs.size()),
                               std::vector<bool>(f.outputs.size())};
  for (const auto &launch : f.launches) {
    Launch l{nullptr, launch.args.empty() ? 0 : launch.args[0].bytes,
             LaunchShape(), static_cast<uint32_t>(p.arguments.size()),
             static_cast<uint32_t>(launch.args.size())};
    const size_t first = p.arguments.size();
    if (launch.kernel != copyKernel) {
      const artifact::Kernel &k = data.kernels[launch.kernel];
      auto kernel = kernelOf(launch.kernel);
      if (!kernel)
        return kernel.error();
      l.kernel = *kernel;
      l.shape = shapeOf(k);
      p.scratch = std::max(p.scratch, k.scratchBytes);
    }
    for (const Operand &o : launch.args) {
      if (auto what = bindableOf(o.space, options.bindTensors))
        p.patches[static_cast<int>(*what)].push_back(
            {p.arguments.size(), o.index, o.offset});
      if (o.space == Space::Input || o.space == Space::Output) {
        bool output = o.space == Space::Output;
        if (!used[output][o.index])
          p.ports[output][o.index].backward =
              f.backward && p.launches.size() >= f.backward;
        used[output][o.index] = true;
      }
      if (o.space == Space::Scalar)
        read[o.index] = true;
      auto address = addressOf(o);
      if (!address)
        return address.error();
      p.arguments.push_back(*address);
      p.argumentBytes.push_back(0);
    }
    if (launch.kernel != copyKernel)
      for (const artifact::TensorMap &map :
           data.kernels[launch.kernel].tensorMaps) {
        p.mapped.push_back({p.arguments.size(), first + map.argument, &map});
        p.arguments.push_back(nullptr);
        p.argumentBytes.push_back(sizeof(TensorMap));
        ++l.argumentCount;
      }
    p.launches.push_back(l);
  }
  p.maps.resize(p.mapped.size());
  for (size_t i = 0; i < p.mapped.size(); ++i) {
    p.arguments[p.mapped[i].argument] = &p.maps[i];
    if (p.arguments[p.mapped[i].of]) // others are encoded by bind
      if (auto s = encode(p, i); !s)
        return s;
  }
  for (size_t i = 0; options.time && i <= p.launches.size(); ++i) {
    auto event = executor->createEvent();
    if (!event)
      return event.error();
    p.events.push_back(std::move(*event));
  }
  p.milliseconds.resize(p.launches.size());
  for (uint32_t i = 0; i < read.size(); ++i)
    if (read[i])
      p.scalars.push_back(i);
  for (uint32_t i = 0; i < f.plan.size(); ++i)
    p.deaths.push_back(i);
  std::sort(p.deaths.begin(), p.deaths.end(), [&](uint32_t a, uint32_t b) {
    return f.plan[a].last < f.plan[b].last;
  });
  return executor->reserveScratch(p.scratch);
}
