// SPDX-License-Identifier: Apache-2.0
//
// Memory of the caller: inputs, outputs, and with bindTensors also parameters
// and states.
#include "act/Artifact/Types.h"
#include "runtime/step/LoadedStep.h"
#include <algorithm>

using namespace act;
using namespace act::runtime;
using namespace act::artifact;

/// The address that kernels get for `memory`. Memory that the device cannot
/// reach gets device memory next to it, which runs copy.
Result<void *> LoadedStep::place(Bound &bound, const std::string &name,
                                 const TensorType &type, void *memory) {
  uint64_t alignment = std::max<uint64_t>(1, elementBytes(type.dtype));
  if (reinterpret_cast<uintptr_t>(memory) % alignment != 0)
    return Error{"the memory bound to '" + name + "' is not aligned to " +
                     std::to_string(alignment) + " bytes",
                 ""};
  uint64_t bytes = *byteSize(type);
  bool inPlace = direct || executor->checkRange(memory, bytes);
  if (!inPlace && !bound.staged) {
    auto allocated = executor->allocate(bytes);
    if (!allocated)
      return allocated.error();
    bound.staged = *allocated;
  } else if (inPlace && bound.staged) {
    (void)executor->free(bound.staged);
    bound.staged = nullptr;
  }
  bound.memory = memory;
  return inPlace ? memory : bound.staged;
}

/// Fills in all addresses of what was bound. Graphs that were recorded with the
/// old ones are dropped.
Status LoadedStep::patch(Prepared &p, Bindable what, size_t index,
                         void *address, const std::string &name) {
  const auto &patches = p.patches[static_cast<int>(what)];
  bool changed = false;
  for (const Patch &patch : patches) {
    if (patch.index != index)
      continue;
    void *&argument = p.arguments[patch.argument];
    void *now = static_cast<uint8_t *>(address) + patch.offset;
    if (argument == now)
      continue;
    changed = true;
    argument = now;
    for (size_t i = 0; i < p.mapped.size(); ++i)
      if (p.mapped[i].of == patch.argument)
        if (auto s = encode(p, i); !s)
          return Error{
              "the memory bound to '" + name + "': " + s.error().message, ""};
  }
  if (changed)
    for (auto &graph : p.graphs)
      graph.reset();
  return ok();
}

Status LoadedStep::bind(size_t function, bool output, size_t port,
                        void *memory) {
  std::lock_guard lock(mutex);
  const Function &f = data.functions[function];
  const Port &about = (output ? f.outputs : f.inputs)[port];
  Prepared &p = functions[function];
  auto address = place(p.ports[output][port], about.name, about.type, memory);
  if (!address)
    return address.error();
  return patch(p, output ? Bindable::Output : Bindable::Input, port, *address,
               about.name);
}

Status LoadedStep::bindTensor(Bindable what, size_t i, void *memory) {
  std::lock_guard lock(mutex);
  if (!options.bindTensors)
    return Error{"the step has memory for its parameters and states: it was "
                 "loaded without ACTRT_BIND_TENSORS",
                 ""};
  bool state = what == Bindable::State;
  const std::string &name =
      state ? data.states[i].name : data.parameters[i].name;
  auto address =
      place(boundTensors[state][i], name,
            state ? data.states[i].type : data.parameters[i].type, memory);
  if (!address)
    return address.error();
  (state ? states : parameters)[i] = *address;
  for (Prepared &p : functions)
    if (auto s = patch(p, what, i, *address, name); !s)
      return s;
  return ok();
}

Status LoadedStep::bindParameter(size_t index, void *memory) {
  return bindTensor(Bindable::Parameter, index, memory);
}

Status LoadedStep::bindState(size_t index, void *memory) {
  return bindTensor(Bindable::State, index, memory);
}

bool LoadedStep::inBackward(size_t function, bool output, size_t port) const {
  return functions[function].ports[output][port].backward;
}

Status LoadedStep::checkRunnable(size_t function, Part part) const {
  const Function &f = data.functions[function];
  const Prepared &p = functions[function];
  auto of = [&] { return " of function '" + f.name + "'"; };
  if (part != Part::Whole && !f.backward)
    return Error{"function '" + f.name +
                     "' has no backward: it runs only as a whole",
                 ""};
  if (part == Part::Backward && awaitsBackward != function)
    return Error{"the backward" + of() +
                     " does not follow its forward: the arena no longer holds "
                     "what forward saved",
                 ""};
  for (int output = 0; output < 2; ++output) {
    auto &ports = output ? f.outputs : f.inputs;
    for (size_t i = 0; i < ports.size(); ++i)
      if (!p.ports[output][i].memory &&
          !(part == Part::Forward && p.ports[output][i].backward))
        return Error{std::string(output ? "output" : "input") + " '" +
                         ports[i].name + "'" + of() + " is not bound",
                     ""};
  }
  if (options.bindTensors) {
    for (const Patch &use : p.patches[static_cast<int>(Bindable::Parameter)])
      if (!parameters[use.index])
        return Error{"parameter '" + data.parameters[use.index].name +
                         "' is not bound",
                     ""};
    for (const Patch &use : p.patches[static_cast<int>(Bindable::State)])
      if (!states[use.index] && part != Part::Forward)
        return Error{"state '" + data.states[use.index].name + "' is not bound",
                     ""};
  }
  for (uint32_t i : p.scalars)
    if (!scalarSet[i])
      return Error{"scalar '" + data.scalars[i].name + "' has not been set",
                   ""};
  return ok();
}

// Copies ports that have device memory as well as the memory they are bound to.
Status LoadedStep::copyPorts(const Function &f, const Prepared &p, bool output,
                             Part part) {
  const auto &ports = output ? f.outputs : f.inputs;
  for (size_t i = 0; i < ports.size(); ++i) {
    const Bound &b = p.ports[output][i];
    uint64_t bytes = *byteSize(ports[i].type);
    if (!b.staged || bytes == 0 ||
        (part != Part::Whole && b.backward != (part == Part::Backward)))
      continue;
    auto s =
        output
            ? stream->copy(b.memory, b.staged, bytes, Direction::DeviceToHost)
            : stream->copy(b.staged, b.memory, bytes, Direction::HostToDevice);
    if (!s)
      return s;
  }
  return ok();
}

/// Likewise, parameters and states. Forward changes no state, and between
/// forward and backward no parameter changes.
Status LoadedStep::copyTensors(Part part, bool back) {
  for (bool state : {false, true}) {
    if (part != Part::Whole && state != (part == Part::Backward))
      continue;
    for (size_t i = 0; i < boundTensors[state].size(); ++i) {
      const Bound &b = boundTensors[state][i];
      uint64_t bytes =
          *byteSize(state ? data.states[i].type : data.parameters[i].type);
      if (!b.staged || bytes == 0 || (back && !state && part != Part::Whole))
        continue;
      auto s = back ? stream->copy(b.memory, b.staged, bytes,
                                   Direction::DeviceToHost)
                    : stream->copy(b.staged, b.memory, bytes,
                                   Direction::HostToDevice);
      if (!s)
        return s;
    }
  }
  return ok();
}
