// SPDX-License-Identifier: Apache-2.0
//
// What a loaded step does: values in and out, bindings, runs and the modes.
// Loading is in LoadStep.cpp.
#include "runtime/step/LoadedStep.h"
#include "act/Artifact/Convert.h"
#include "act/Artifact/Types.h"
#include "runtime/step/InitialValues.h"
#include "runtime/step/Poison.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace act;
using namespace act::runtime;
using namespace act::artifact;

HostView LoadedStep::view(void *address, const TensorType &type) {
  return HostView(direct, *stream, address, *byteSize(type));
}

// Size of one staging buffer. Two alternate: one is filled while the other is
// copied.
constexpr uint64_t stagingBytes = 32 << 20;

/// Page-aligned, because drivers pin whole pages. Registered with the device,
/// because only pinned memory is copied asynchronously.
Status LoadedStep::reserveStaging() {
  if (staging)
    return ok();
  void *memory = std::aligned_alloc(4096, 2 * stagingBytes);
  if (!memory)
    return Error{"cannot allocate " + std::to_string(2 * stagingBytes) +
                     " bytes to copy values to the device",
                 ""};
  if (auto s = executor->registerHost(memory, 2 * stagingBytes); !s) {
    std::free(memory);
    return s;
  }
  staging = static_cast<uint8_t *>(memory);
  return ok();
}

/// Values are set rarely, so the buffers do not stay while the step runs.
void LoadedStep::releaseStaging() {
  if (!staging)
    return;
  (void)executor->unregisterHost(staging);
  std::free(staging);
  staging = nullptr;
}

/// Writes to device memory that the CPU cannot access. Small tensors go through
/// one copy. So does nf4, whose elements have no width of their own: it is
/// quantised as a whole.
Status LoadedStep::write(void *address, const TensorType &type,
                         const Elements &elements) {
  if (direct)
    return writeTensor(type, elements, address, threads());
  uint64_t width = elementBytes(type.dtype);
  if (width == 0 || *byteSize(type) <= stagingBytes) {
    HostView values = view(address, type);
    auto s = writeTensor(type, elements, values.data(), threads());
    return s ? values.store() : s;
  }
  if (auto s = reserveStaging(); !s)
    return s;
  uint64_t n = *elementCount(type), slice = stagingBytes / width;
  for (uint64_t first = 0, half = 0; first < n; first += slice, half ^= 1) {
    uint64_t count = std::min(slice, n - first);
    uint8_t *memory = staging + half * stagingBytes;
    TensorType part;
    part.dtype = type.dtype;
    part.shape = {static_cast<int64_t>(count)};
    auto filled = writeTensor(
        part,
        [&](uint64_t at, uint64_t some, DType to, void *target) {
          elements(first + at, some, to, target);
        },
        memory, threads());
    if (!filled)
      return filled;
    // Wait for the copy of the previous half, which is filled next.
    if (auto s = stream->synchronize(); !s)
      return s;
    if (auto s = stream->copy(static_cast<uint8_t *>(address) + first * width,
                              memory, count * width, Direction::HostToDevice);
        !s)
      return s;
  }
  return stream->synchronize();
}

/// A master gets the parameter's rounded values, not the exact ones. Otherwise
/// the first step would compute with one set of weights and update another.
Status LoadedStep::writeParameter(size_t i, const Elements &elements) {
  const TensorType &type = data.parameters[i].type;
  if (auto s = write(parameters[i], type, elements); !s)
    return s;
  for (size_t k = 0; k < states.size(); ++k)
    if (const State &state = data.states[k];
        state.role == Role::Master && state.parameter == i)
      if (auto s = write(states[k], state.type, rounded(elements, type.dtype));
          !s)
        return s;
  return ok();
}

/// With bindTensors, the memory is the caller's. It is written if kernels use
/// it in place; what runs copy to the device first is the caller's to write.
Status LoadedStep::checkSettable(bool state, size_t i) const {
  if (!options.bindTensors)
    return ok();
  auto fail = [](const std::string &name, const char *why) -> Status {
    return Error{"'" + name + "' is " + why, ""};
  };
  const std::string &name =
      state ? data.states[i].name : data.parameters[i].name;
  const Bound &bound = boundTensors[state][i];
  if (!bound.memory)
    return fail(name, "not bound");
  if (bound.staged)
    return fail(name, "bound to memory that the device copies: its value is "
                      "set and read there");
  for (size_t k = 0; !state && k < states.size(); ++k)
    if (data.states[k].role == Role::Master && data.states[k].parameter == i)
      if (auto s = checkSettable(true, k); !s)
        return s;
  return ok();
}

Status LoadedStep::initialiseParameter(size_t i, uint64_t seed) {
  std::lock_guard lock(mutex);
  if (auto s = checkSettable(false, i); !s)
    return s;
  return writeParameter(i, initialElements(data.parameters[i], seed));
}

// Allocated memory is zeroed, so states that were never written are skipped:
// on the host their pages stay untouched.
Status LoadedStep::resetStates() {
  if (!statesWritten)
    return ok();
  for (size_t i = 0; i < states.size(); ++i)
    if (uint64_t bytes = *byteSize(data.states[i].type))
      if (auto s = stream->fill(states[i], 0, bytes); !s)
        return s;
  statesWritten = false;
  return stream->synchronize();
}

Status LoadedStep::initialise(uint64_t seed) {
  std::lock_guard lock(mutex);
  if (options.bindTensors)
    return Error{
        "the parameters and states of this step are bound memory: each "
        "is set and read alone",
        ""};
  if (auto s = resetStates(); !s)
    return s;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (auto s = writeParameter(i, initialElements(data.parameters[i], seed));
        !s)
      return s;
  return ok();
}

// Equal types are copied byte for byte. Between float types, and to nf4, values
// are converted. Anything else is the caller's error.
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

/// Between equal nf4 types, codes and scales are copied as they are. To
/// quantise them again would change them.
Status LoadedStep::setTensor(const std::string &name, const TensorType &type,
                             DType given, const void *source, void *address) {
  if (auto s = checkConvertible(name, type, given); !s)
    return s;
  if (given != type.dtype || !isNf4(given))
    return write(address, type, elementsAt(given, source));
  HostView values = view(address, type);
  std::memcpy(values.data(), source, *byteSize(type));
  return values.store();
}

Status LoadedStep::getTensor(const std::string &name, const TensorType &type,
                             void *address, DType wanted, void *target) {
  if (auto s = checkConvertible(name, type, wanted); !s)
    return s;
  bool same = wanted == type.dtype;
  if (!direct && same) {
    uint64_t bytes = *byteSize(type);
    auto s = bytes
                 ? stream->copy(target, address, bytes, Direction::DeviceToHost)
                 : ok();
    return s ? stream->synchronize() : s;
  }
  HostView values = view(address, type);
  if (auto s = values.fetch(); !s)
    return s;
  if (!same || !isNf4(wanted))
    return readTensor(type, values.data(), wanted, target, threads());
  std::memcpy(target, values.data(), *byteSize(type));
  return ok();
}

Status LoadedStep::setParameter(size_t i, DType type, const void *source) {
  std::lock_guard lock(mutex);
  if (auto s = checkSettable(false, i); !s)
    return s;
  const Parameter &p = data.parameters[i];
  if (isNf4(type)) // frozen: it has no master states
    return setTensor(p.name, p.type, type, source, parameters[i]);
  auto s = checkConvertible(p.name, p.type, type);
  return s ? writeParameter(i, elementsAt(type, source)) : s;
}

Status LoadedStep::getParameter(size_t i, DType type, void *target) {
  std::lock_guard lock(mutex);
  if (auto s = checkSettable(false, i); !s)
    return s;
  const Parameter &p = data.parameters[i];
  return getTensor(p.name, p.type, parameters[i], type, target);
}

Status LoadedStep::setState(size_t i, DType type, const void *source) {
  std::lock_guard lock(mutex);
  if (auto s = checkSettable(true, i); !s)
    return s;
  statesWritten = true;
  const State &state = data.states[i];
  return setTensor(state.name, state.type, type, source, states[i]);
}

Status LoadedStep::getState(size_t i, DType type, void *target) {
  std::lock_guard lock(mutex);
  if (auto s = checkSettable(true, i); !s)
    return s;
  const State &state = data.states[i];
  return getTensor(state.name, state.type, states[i], type, target);
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

/// Fills the arenas for a mode. Measuring wins over debugging: it looks for
/// bytes that changed, and a filled dead buffer would count as one.
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

/// A copy has one operand in each arena, so the place of its target tells the
/// direction.
Status LoadedStep::copyBetweenArenas(const Launch &l, const Prepared &p) {
  void *from = p.arguments[l.firstArgument],
       *to = p.arguments[l.firstArgument + 1];
  auto *at = static_cast<uint8_t *>(to);
  bool away = at >= hostArena && at < hostArena + hostArenaSize;
  return stream->copy(to, from, l.bytes,
                      away ? Direction::DeviceToHost : Direction::HostToDevice);
}

Status LoadedStep::recordEvent(const Prepared &p, size_t i) {
  return options.time ? stream->record(*p.events[i]) : ok();
}

Status LoadedStep::readEvents(Prepared &p, Range range) {
  for (size_t i = range.begin; i < range.end; ++i) {
    auto elapsed = p.events[i + 1]->elapsedSince(*p.events[i]);
    if (!elapsed)
      return elapsed.error();
    p.milliseconds[i] = *elapsed;
  }
  return ok();
}

/// Walks the list. In debug mode it also fills each buffer of the plan with NaN
/// after the last launch that may read it, so that a late reader is seen.
Status LoadedStep::enqueue(const Function &f, const Prepared &p, Range range) {
  size_t dead = 0;
  while (dead < p.deaths.size() && f.plan[p.deaths[dead]].last < range.begin)
    ++dead;
  for (uint32_t i = range.begin; i < range.end; ++i) {
    if (auto s = recordEvent(p, i); !s)
      return s;
    const Launch &l = p.launches[i];
    Arguments arguments{p.arguments.data() + l.firstArgument,
                        p.argumentBytes.data() + l.firstArgument,
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
  return recordEvent(p, range.end);
}

LoadedStep::Range LoadedStep::rangeOf(const Function &f, Part part) {
  auto all = static_cast<uint32_t>(f.launches.size());
  return {part == Part::Backward ? f.backward : 0,
          part == Part::Forward ? f.backward : all};
}

// A repeated run is worth a graph: one launch instead of thousands.
Status LoadedStep::enqueueAsGraph(const Function &f, Prepared &p, Part part) {
  std::unique_ptr<Graph> &graph = p.graphs[static_cast<int>(part)];
  if (!graph) {
    if (auto s = stream->beginCapture(); !s)
      return s;
    auto launched = enqueue(f, p, rangeOf(f, part));
    auto captured = stream->endCapture(); // even on failure, or it hangs
    if (!launched)
      return launched;
    if (!captured)
      return captured.error();
    graph = std::move(*captured);
  }
  return stream->launch(*graph);
}

/// Scalars are copied before every run and read from memory by the kernels, so
/// a graph need not be recorded again when one changes.
Status LoadedStep::run(size_t function, Part part) {
  std::lock_guard lock(mutex);
  const Function &f = data.functions[function];
  Prepared &p = functions[function];
  if (auto s = checkRunnable(function, part); !s)
    return s;
  releaseStaging();
  statesWritten = true;
  awaitsBackward.reset();
  if (auto s = part == Part::Backward ? ok() : poison(); !s)
    return s;
  if (!direct)
    if (auto s = stream->copy(deviceSlots, slots.data(), 8 * slots.size(),
                              Direction::HostToDevice);
        !s)
      return s;
  if (auto s = copyPorts(f, p, false, part); !s)
    return s;
  if (auto s = copyTensors(part, false); !s)
    return s;
  bool &ran = p.ran[static_cast<int>(part)];
  bool asGraph = ran && stream->canCapture() && !options.debug &&
                 !options.measure && !options.time;
  const Range range = rangeOf(f, part);
  if (auto s = asGraph ? enqueueAsGraph(f, p, part) : enqueue(f, p, range); !s)
    return s;
  if (auto s = copyPorts(f, p, true, part); !s)
    return s;
  if (auto s = copyTensors(part, true); !s)
    return s;
  if (auto s = stream->synchronize(); !s)
    return s;
  if (options.measure)
    if (auto s = measure(f, p); !s)
      return s;
  if (options.time)
    if (auto s = readEvents(p, range); !s)
      return s;
  ran = true;
  if (part == Part::Forward)
    awaitsBackward = function;
  else
    ++p.runs;
  return ok();
}

static bool endsIn(const std::string &text, std::string_view end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// The end of the last workspace that no launch touches: only kernels of other
/// devices need it.
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
