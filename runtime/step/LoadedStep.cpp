// SPDX-License-Identifier: Apache-2.0
#include "runtime/step/LoadedStep.h"
#include "act/Artifact/Convert.h"
#include "act/Artifact/Types.h"
#include "runtime/step/InitialValues.h"
#include "runtime/step/Poison.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace act;
using namespace act::runtime;
using namespace act::artifact;

HostView LoadedStep::view(void *address, const TensorType &type) {
  return HostView(direct, *stream, address, *byteSize(type));
}

Status LoadedStep::copyToMasters(size_t parameter) {
  const TensorType &from = data.parameters[parameter].type;
  for (size_t i = 0; i < states.size(); ++i) {
    const State &state = data.states[i];
    if (state.role != Role::Master || state.parameter != parameter)
      continue;
    HostView source = view(parameters[parameter], from);
    HostView target = view(states[i], state.type);
    if (auto s = source.fetch(); !s)
      return s;
    convertFloats(from.dtype, source.data(), state.type.dtype, target.data(),
                  *elementCount(from)); // loading checked the shape
    if (auto s = target.store(); !s)
      return s;
  }
  return ok();
}

Status LoadedStep::initialise(uint64_t seed) {
  std::lock_guard lock(mutex);
  for (size_t i = 0; i < states.size(); ++i)
    if (uint64_t bytes = *byteSize(data.states[i].type))
      if (auto s = stream->fill(states[i], 0, bytes); !s)
        return s;
  if (auto s = stream->synchronize(); !s)
    return s;
  for (size_t i = 0; i < parameters.size(); ++i) {
    HostView values = view(parameters[i], data.parameters[i].type);
    auto s = runtime::initialise(data.parameters[i], seed, values.data());
    if (s)
      s = values.store();
    if (s)
      s = copyToMasters(i);
    if (!s)
      return s;
  }
  return ok();
}

// Equal types are copied byte for byte; between float types (and into nf4)
// values are converted; anything else is a mistake of the caller.
static Status checkConvertible(const std::string &name, const TensorType &have,
                               DType given) {
  if (given == have.dtype)
    return ok();
  bool floats = isFloat(given) && (isFloat(have.dtype) || isNf4(have.dtype));
  return floats ? ok()
                : Status(Error{"'" + name + "' is " + typeName(have) +
                                   ", it cannot be exchanged as " +
                                   dtypeName(given),
                               ""});
}

static Status storeTensor(const std::string &name, const TensorType &type,
                          DType given, const void *source, void *target) {
  if (auto s = checkConvertible(name, type, given); !s)
    return s;
  if (given != type.dtype)
    return storeValues(type, given, source, target);
  std::memcpy(target, source, *byteSize(type));
  return ok();
}

static Status loadTensor(const std::string &name, const TensorType &type,
                         const void *source, DType wanted, void *target) {
  if (auto s = checkConvertible(name, type, wanted); !s)
    return s;
  if (wanted != type.dtype)
    return loadValues(type, source, wanted, target);
  std::memcpy(target, source, *byteSize(type));
  return ok();
}

Status LoadedStep::setParameter(size_t i, DType type, const void *source) {
  std::lock_guard lock(mutex);
  const Parameter &p = data.parameters[i];
  HostView values = view(parameters[i], p.type);
  auto s = storeTensor(p.name, p.type, type, source, values.data());
  if (s)
    s = values.store();
  return s ? copyToMasters(i) : s;
}

Status LoadedStep::getParameter(size_t i, DType type, void *target) {
  std::lock_guard lock(mutex);
  const Parameter &p = data.parameters[i];
  HostView values = view(parameters[i], p.type);
  auto s = values.fetch();
  return s ? loadTensor(p.name, p.type, values.data(), type, target) : s;
}

Status LoadedStep::setState(size_t i, DType type, const void *source) {
  std::lock_guard lock(mutex);
  const State &state = data.states[i];
  HostView values = view(states[i], state.type);
  auto s = storeTensor(state.name, state.type, type, source, values.data());
  return s ? values.store() : s;
}

Status LoadedStep::getState(size_t i, DType type, void *target) {
  std::lock_guard lock(mutex);
  const State &state = data.states[i];
  HostView values = view(states[i], state.type);
  auto s = values.fetch();
  return s ? loadTensor(state.name, state.type, values.data(), type, target)
           : s;
}

Result<Scalar *> LoadedStep::scalar(const std::string &name) {
  for (Scalar &s : data.scalars)
    if (s.name == name)
      return &s;
  return Error{"the step has no scalar '" + name + "'", ""};
}

Status LoadedStep::setScalar(const std::string &name, double value) {
  std::lock_guard lock(mutex);
  auto s = scalar(name);
  if (!s)
    return s.error();
  if (!isFloat((*s)->dtype))
    return Error{"scalar '" + name + "' is " + dtypeName((*s)->dtype) +
                     ", expected an integer",
                 ""};
  size_t i = static_cast<size_t>(*s - data.scalars.data());
  slots[i] = 0;
  storeFloat((*s)->dtype, &slots[i], 0, value);
  scalarSet[i] = true;
  return ok();
}

Status LoadedStep::setScalar(const std::string &name, int64_t value) {
  std::lock_guard lock(mutex);
  auto s = scalar(name);
  if (!s)
    return s.error();
  if (isFloat((*s)->dtype))
    return Error{"scalar '" + name + "' is " + dtypeName((*s)->dtype) +
                     ", expected a float",
                 ""};
  if ((*s)->dtype == DType::I32 && (value < INT32_MIN || value > INT32_MAX))
    return Error{"scalar '" + name + "' is i32, " + std::to_string(value) +
                     " does not fit",
                 ""};
  size_t i = static_cast<size_t>(*s - data.scalars.data());
  std::memcpy(&slots[i], &value, 8);
  scalarSet[i] = true;
  return ok();
}

Status LoadedStep::bind(size_t function, bool output, size_t port,
                        void *memory) {
  std::lock_guard lock(mutex);
  const Function &f = data.functions[function];
  const Port &p = (output ? f.outputs : f.inputs)[port];
  uint64_t alignment = std::max<uint64_t>(1, elementBytes(p.type.dtype));
  if (reinterpret_cast<uintptr_t>(memory) % alignment != 0)
    return Error{"the memory bound to '" + p.name + "' is not aligned to " +
                     std::to_string(alignment) + " bytes",
                 ""};
  Prepared &prepared = functions[function];
  void *address = memory;
  uint64_t bytes = *byteSize(p.type);
  if (!direct && !executor->checkRange(memory, bytes)) {
    void *&staged = prepared.staged[output][port];
    if (!staged) {
      auto allocated = executor->allocate(bytes);
      if (!allocated)
        return allocated.error();
      staged = *allocated;
    }
    address = staged;
  } else if (void *&staged = prepared.staged[output][port]) {
    (void)executor->free(staged);
    staged = nullptr;
  }
  prepared.graph.reset();
  prepared.bound[output][port] = memory;
  for (const Patch &patch : prepared.patches[output])
    if (patch.port == port)
      prepared.arguments[patch.argument] =
          static_cast<uint8_t *>(address) + patch.offset;
  return ok();
}

Status LoadedStep::checkRunnable(const Function &f, const Prepared &p) const {
  for (int output = 0; output < 2; ++output) {
    auto &ports = output ? f.outputs : f.inputs;
    for (size_t i = 0; i < ports.size(); ++i)
      if (!p.bound[output][i])
        return Error{std::string(output ? "output" : "input") + " '" +
                         ports[i].name + "' of function '" + f.name +
                         "' is not bound",
                     ""};
  }
  for (uint32_t i : p.scalars)
    if (!scalarSet[i])
      return Error{"scalar '" + data.scalars[i].name + "' has not been set",
                   ""};
  return ok();
}

// Ports that have memory of the device beside the memory they are bound to.
Status LoadedStep::copyPorts(const Function &f, const Prepared &p,
                             bool output) {
  const auto &ports = output ? f.outputs : f.inputs;
  for (size_t i = 0; i < ports.size(); ++i) {
    void *device = p.staged[output][i], *host = p.bound[output][i];
    uint64_t bytes = *byteSize(ports[i].type);
    if (!device || bytes == 0)
      continue;
    auto s = output
                 ? stream->copy(host, device, bytes, Direction::DeviceToHost)
                 : stream->copy(device, host, bytes, Direction::HostToDevice);
    if (!s)
      return s;
  }
  return ok();
}

Status LoadedStep::poison() {
  if (!options.measure && options.debug && hostArenaSize)
    std::memset(hostArena, 0xff, hostArenaSize);
  if (!options.measure)
    return options.debug ? stream->fill(arena, 0xff, arenaSize) : ok();
  if (hostArenaSize)
    fillPattern(hostArena, hostArenaSize);
  executor->forEachScratch(fillPattern);
  HostView pattern(direct, *stream, arena, arenaSize);
  fillPattern(static_cast<uint8_t *>(pattern.data()), arenaSize);
  return pattern.store();
}

Status LoadedStep::copyBetweenArenas(const Launch &l, const Prepared &p) {
  void *from = p.arguments[l.firstArgument], *to = p.arguments[l.firstArgument + 1];
  auto *at = static_cast<uint8_t *>(to);
  bool away = at >= hostArena && at < hostArena + hostArenaSize;
  return stream->copy(to, from, l.bytes,
                      away ? Direction::DeviceToHost : Direction::HostToDevice);
}

Status LoadedStep::recordEvent(const Prepared &p, size_t i) {
  return options.time ? stream->record(*p.events[i]) : ok();
}

Status LoadedStep::readEvents(Prepared &p) {
  for (size_t i = 0; i < p.milliseconds.size(); ++i) {
    auto elapsed = p.events[i + 1]->elapsedSince(*p.events[i]);
    if (!elapsed)
      return elapsed.error();
    p.milliseconds[i] = *elapsed;
  }
  return ok();
}

Status LoadedStep::enqueue(const Function &f, const Prepared &p) {
  size_t dead = 0;
  for (uint32_t i = 0; i < p.launches.size(); ++i) {
    if (auto s = recordEvent(p, i); !s)
      return s;
    const Launch &l = p.launches[i];
    Arguments arguments{p.arguments.data() + l.firstArgument, nullptr,
                        l.argumentCount};
    Status s = l.kernel ? stream->launch(*l.kernel, l.shape, arguments)
                        : copyBetweenArenas(l, p);
    if (!s)
      return Error{"function '" + f.name + "', launch '" + f.launches[i].name +
                       "': " + s.error().message,
                   ""};
    // While measuring, a poisoned buffer would count as written.
    if (options.debug && !options.measure)
      for (; dead < p.deaths.size() && f.plan[p.deaths[dead]].last <= i;
           ++dead) {
        const Buffer &b = f.plan[p.deaths[dead]];
        if (b.bytes && b.onHost) {
          if (auto s = stream->synchronize(); !s)
            return s;
          std::memset(hostArena + b.offset, 0xff, b.bytes);
        } else if (b.bytes)
          if (auto s = stream->fill(arena + b.offset, 0xff, b.bytes); !s)
            return s;
      }
  }
  return recordEvent(p, p.launches.size());
}

// A run that is repeated is worth a graph: the device is given one thing
// instead of thousands.
Status LoadedStep::enqueueAsGraph(const Function &f, Prepared &p) {
  if (!p.graph) {
    if (auto s = stream->beginCapture(); !s)
      return s;
    auto launched = enqueue(f, p);
    auto graph = stream->endCapture(); // in any case, or the stream is stuck
    if (!launched)
      return launched;
    if (!graph)
      return graph.error();
    p.graph = std::move(*graph);
  }
  return stream->launch(*p.graph);
}

Status LoadedStep::run(size_t function) {
  std::lock_guard lock(mutex);
  const Function &f = data.functions[function];
  Prepared &p = functions[function];
  if (auto s = checkRunnable(f, p); !s)
    return s;
  if (auto s = poison(); !s)
    return s;
  if (!direct)
    if (auto s = stream->copy(deviceSlots, slots.data(), 8 * slots.size(),
                              Direction::HostToDevice);
        !s)
      return s;
  if (auto s = copyPorts(f, p, false); !s)
    return s;
  bool asGraph = p.runs > 0 && stream->canCapture() && !options.debug &&
                 !options.measure && !options.time;
  if (auto s = asGraph ? enqueueAsGraph(f, p) : enqueue(f, p); !s)
    return s;
  if (auto s = copyPorts(f, p, true); !s)
    return s;
  if (auto s = stream->synchronize(); !s)
    return s;
  if (options.measure)
    if (auto s = measure(f, p); !s)
      return s;
  if (options.time)
    if (auto s = readEvents(p); !s)
      return s;
  ++p.runs;
  return ok();
}

static bool endsIn(const std::string &text, std::string_view end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Where the last of the workspaces ends that kernels of other devices need, and
/// none of these launches touches.
static uint64_t endOfOthersWorkspaces(const Function &f) {
  uint64_t end = 0;
  for (const Buffer &b : f.plan) {
    uint64_t bufferEnd = b.offset + b.bytes;
    if (b.onHost || bufferEnd <= end || !endsIn(b.name, "workspace"))
      continue;
    bool touched = false;
    for (uint32_t i = b.first; i <= b.last && !touched; ++i)
      for (const Operand &o : f.launches[i].args)
        touched |= o.space == Space::Arena && o.offset < bufferEnd &&
                   b.offset < o.offset + o.bytes;
    if (!touched)
      end = bufferEnd;
  }
  return end;
}

Status LoadedStep::measure(const Function &f, Prepared &p) {
  HostView after(direct, *stream, arena, arenaSize);
  if (auto s = after.fetch(); !s)
    return s;
  p.highWater = std::max(
      {p.highWater, endOfOthersWorkspaces(f),
       highestChange(static_cast<const uint8_t *>(after.data()), arenaSize)});
  if (hostArenaSize)
    p.hostHighWater =
        std::max(p.hostHighWater, highestChange(hostArena, hostArenaSize));
  executor->forEachScratch([&](const uint8_t *scratch, uint64_t bytes) {
    p.scratchHighWater =
        std::max(p.scratchHighWater, highestChange(scratch, bytes));
  });
  return ok();
}

StepStatistics LoadedStep::statistics(size_t function) const {
  std::lock_guard lock(mutex);
  StepStatistics s = allocated;
  const Prepared &p = functions[function];
  s.arenaBytes = data.functions[function].arenaBytes;
  s.arenaHighWater = p.highWater;
  s.hostArenaBytes = data.functions[function].hostArenaBytes;
  s.hostArenaHighWater = p.hostHighWater;
  s.scratchBytesPerThread = p.scratch;
  s.scratchBytes = p.scratch * executor->info().threads;
  s.scratchHighWater = p.scratchHighWater;
  s.runs = p.runs;
  return s;
}

std::vector<double> LoadedStep::milliseconds(size_t function) const {
  std::lock_guard lock(mutex);
  return functions[function].milliseconds;
}
