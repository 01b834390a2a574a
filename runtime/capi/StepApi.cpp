// SPDX-License-Identifier: Apache-2.0
//
// Compiled steps in the C interface.
#include "act/Artifact/Format.h"
#include "act/Artifact/Types.h"
#include "runtime/capi/HandleTable.h"
#include <optional>

using namespace act;
using namespace act::runtime;
using namespace act::artifact;

// The C interface and artifacts number element types alike, so a cast converts
// one into the other.
static_assert(ACTRT_DTYPE_NF4_NESTED == static_cast<int>(DType::NF4Nested) &&
              ACTRT_DTYPE_U8 == static_cast<int>(DType::U8) &&
              ACTRT_DTYPE_I1 == static_cast<int>(DType::I1));

// Shared by loading from a file and from memory. Takes the unread result so
// that an invalid device handle is reported before a bad artifact.
static actrt_status load(actrt_device device, Result<Step> step, uint32_t flags,
                         actrt_step *handle) {
  auto d = findDevice(device);
  if (!d)
    return ACTRT_INVALID_HANDLE;
  if (!handle)
    return invalid("the step's handle is null");
  if (!step)
    return fail(ACTRT_FAILED, step.error().str());
  StepOptions o;
  o.allowNative = flags & ACTRT_ALLOW_NATIVE;
  o.debug = flags & ACTRT_DEBUG;
  o.measure = flags & ACTRT_MEASURE;
  o.time = flags & ACTRT_TIME;
  o.anyMemory = flags & ACTRT_ANY_MEMORY;
  o.bindTensors = flags & ACTRT_BIND_TENSORS;
  auto loaded = LoadedStep::load(d, std::move(*step), o);
  if (!loaded)
    return fail(ACTRT_FAILED, loaded.error().str());
  *handle = static_cast<actrt_step>(
      addHandle(Kind::Step, std::shared_ptr<LoadedStep>(std::move(*loaded))));
  return ACTRT_SUCCESS;
}

actrt_status actrt_step_load_file(actrt_device device, const char *path,
                                  uint32_t flags, actrt_step *step) {
  return guarded([&]() -> actrt_status {
    if (!path)
      return invalid("the artifact's path is null");
    return load(device, artifact::readFile(path), flags, step);
  });
}

actrt_status actrt_step_load_memory(actrt_device device, const void *data,
                                    size_t bytes, uint32_t flags,
                                    actrt_step *step) {
  return guarded([&]() -> actrt_status {
    if (!data)
      return invalid("the artifact's bytes are null");
    return load(device, artifact::read(data, bytes), flags, step);
  });
}

actrt_status actrt_step_release(actrt_step step) {
  return releaseHandle(Kind::Step, step);
}

// The strings point into the step, which is not changed after loading, so they
// live as long as it.
actrt_status actrt_step_query(actrt_step step, actrt_step_info *info) {
  return guarded([&]() -> actrt_status {
    auto s = findStep(step);
    if (!s)
      return ACTRT_INVALID_HANDLE;
    actrt_step_info full{};
    full.model = s->step().model.c_str();
    full.target = s->step().target.c_str();
    full.optimizer = s->step().optimizer.c_str();
    full.report = s->step().report.c_str();
    full.micro_batches = s->step().microBatches;
    return fillStruct(info, full);
  });
}

// ---- Lookup by name --------------------------------------------------------

template <typename T>
static std::optional<size_t> indexOf(const std::vector<T> &list,
                                     const char *name) {
  for (size_t i = 0; name && i < list.size(); ++i)
    if (list[i].name == name)
      return i;
  return std::nullopt;
}

static actrt_status notFound(const char *what, const char *name) {
  return fail(ACTRT_NOT_FOUND, std::string("the step has no ") + what + " '" +
                                   (name ? name : "(null)") + "'");
}

// Compares a caller's type with the port's or tensor's. Without `sameType`,
// only the shape must agree: parameters and states convert between float types,
// and LoadedStep rejects what it cannot convert. Bound memory is used in place,
// so its element type must agree too.
static Status checkType(const std::string &name, const TensorType &have,
                        const actrt_type *given, bool sameType) {
  if (!given)
    return Error{"the type given for '" + name + "' is null", ""};
  if (given->rank > ACTRT_MAX_RANK || given->dtype < ACTRT_DTYPE_F64 ||
      given->dtype > ACTRT_DTYPE_U8)
    return Error{"the type given for '" + name + "' is not a valid type", ""};
  TensorType t;
  t.dtype = static_cast<DType>(given->dtype);
  t.shape.assign(given->shape, given->shape + given->rank);
  if (t.shape != have.shape || (sameType && t.dtype != have.dtype))
    return Error{
        "'" + name + "' is " + typeName(have) + ", given " + typeName(t), ""};
  return ok();
}

// ---- Listing ---------------------------------------------------------------

actrt_status actrt_step_count(actrt_step step, actrt_entity entity,
                              const char *function, size_t *count) {
  return guarded([&]() -> actrt_status {
    auto s = findStep(step);
    if (!s)
      return ACTRT_INVALID_HANDLE;
    if (!count)
      return invalid("the pointer for the count is null");
    const Step &d = s->step();
    switch (entity) {
    case ACTRT_PARAMETER:
      *count = d.parameters.size();
      return ACTRT_SUCCESS;
    case ACTRT_STATE:
      *count = d.states.size();
      return ACTRT_SUCCESS;
    case ACTRT_SCALAR:
      *count = d.scalars.size();
      return ACTRT_SUCCESS;
    case ACTRT_FUNCTION:
      *count = d.functions.size();
      return ACTRT_SUCCESS;
    case ACTRT_INPUT:
    case ACTRT_OUTPUT:
      if (auto f = indexOf(d.functions, function)) {
        *count = entity == ACTRT_INPUT ? d.functions[*f].inputs.size()
                                       : d.functions[*f].outputs.size();
        return ACTRT_SUCCESS;
      }
      return notFound("function", function);
    }
    return invalid("the kind of entity is unknown");
  });
}

static void describe(actrt_entity_info &info, const std::string &name,
                     const TensorType &type) {
  info.name = name.c_str();
  info.type.dtype = static_cast<actrt_dtype>(type.dtype);
  info.type.rank = static_cast<uint32_t>(type.shape.size());
  std::copy(type.shape.begin(), type.shape.end(), info.type.shape);
  info.bytes = *byteSize(type); // loading checked every type
}

actrt_status actrt_step_describe(actrt_step step, actrt_entity entity,
                                 const char *function, size_t index,
                                 actrt_entity_info *info) {
  size_t count = 0;
  if (auto c = actrt_step_count(step, entity, function, &count))
    return c;
  if (index >= count)
    return fail(ACTRT_NOT_FOUND, "index " + std::to_string(index) + " of " +
                                     std::to_string(count));
  return guarded([&]() -> actrt_status {
    auto s = findStep(step);
    if (!s)
      return ACTRT_INVALID_HANDLE;
    const Step &d = s->step();
    actrt_entity_info full{};
    if (entity == ACTRT_PARAMETER) {
      describe(full, d.parameters[index].name, d.parameters[index].type);
      full.frozen = d.parameters[index].frozen;
      full.tied = static_cast<uint32_t>(d.parameters[index].tied.size());
    } else if (entity == ACTRT_STATE) {
      const State &state = d.states[index];
      describe(full, state.name, state.type);
      // The C enumeration has ROLE_NONE, which is 0, before the roles of the
      // artifact.
      full.role = static_cast<actrt_role>(static_cast<int>(state.role) + 1);
      full.parameter = d.parameters[state.parameter].name.c_str();
    } else if (entity == ACTRT_SCALAR) {
      TensorType type;
      type.dtype = d.scalars[index].dtype;
      describe(full, d.scalars[index].name, type);
    } else if (entity == ACTRT_FUNCTION) {
      full.name = d.functions[index].name.c_str();
    } else {
      const Function &f = d.functions[*indexOf(d.functions, function)];
      const Port &p = (entity == ACTRT_INPUT ? f.inputs : f.outputs)[index];
      describe(full, p.name, p.type);
      full.backward =
          s->inBackward(&f - d.functions.data(), entity == ACTRT_OUTPUT, index);
      full.updates = p.updates.empty() ? nullptr : p.updates.c_str();
    }
    return fillStruct(info, full);
  });
}

actrt_status actrt_step_tied_name(actrt_step step, const char *parameter,
                                  size_t index, const char **name) {
  if (!parameter || !name)
    return invalid("the parameter's name, or the pointer for the tied one, is "
                   "null");
  return guarded([&]() -> actrt_status {
    auto s = findStep(step);
    if (!s)
      return ACTRT_INVALID_HANDLE;
    auto i = indexOf(s->step().parameters, parameter);
    if (!i)
      return notFound("parameter", parameter);
    const auto &tied = s->step().parameters[*i].tied;
    if (index >= tied.size())
      return fail(ACTRT_NOT_FOUND, "tied name " + std::to_string(index) +
                                       " of " + std::to_string(tied.size()));
    *name = tied[index].c_str();
    return ACTRT_SUCCESS;
  });
}

// ---- Values ----------------------------------------------------------------

actrt_status actrt_step_initialise(actrt_step step, uint64_t seed) {
  return guarded([&]() -> actrt_status {
    auto s = findStep(step);
    return s ? finish(s->initialise(seed)) : ACTRT_INVALID_HANDLE;
  });
}

actrt_status actrt_step_initialise_parameter(actrt_step step, const char *name,
                                             uint64_t seed) {
  return guarded([&]() -> actrt_status {
    auto s = findStep(step);
    if (!s)
      return ACTRT_INVALID_HANDLE;
    auto i = indexOf(s->step().parameters, name);
    return i ? finish(s->initialiseParameter(*i, seed))
             : notFound("parameter", name);
  });
}

// Finds the parameter or state, checks the type, and runs body(isState, index).
template <typename Body>
static actrt_status onTensor(actrt_step step, actrt_entity entity,
                             const char *name, const void *data,
                             const actrt_type *type, Body body) {
  return guarded([&]() -> actrt_status {
    auto s = findStep(step);
    if (!s)
      return ACTRT_INVALID_HANDLE;
    if (entity != ACTRT_PARAMETER && entity != ACTRT_STATE)
      return invalid("only parameters and states have values to set or get");
    bool isState = entity == ACTRT_STATE;
    auto i = isState ? indexOf(s->step().states, name)
                     : indexOf(s->step().parameters, name);
    if (!i)
      return notFound(isState ? "state" : "parameter", name);
    if (!data)
      return invalid(std::string("the memory for '") + name + "' is null");
    const TensorType &have =
        isState ? s->step().states[*i].type : s->step().parameters[*i].type;
    if (auto c = checkType(name, have, type, false); !c)
      return invalid(c.error().message);
    auto r = body(*s, isState, *i, static_cast<DType>(type->dtype));
    return r ? ACTRT_SUCCESS : invalid(r.error().str());
  });
}

actrt_status actrt_step_set(actrt_step step, actrt_entity entity,
                            const char *name, const void *data,
                            const actrt_type *type) {
  return onTensor(step, entity, name, data, type,
                  [&](LoadedStep &s, bool isState, size_t i, DType t) {
                    return isState ? s.setState(i, t, data)
                                   : s.setParameter(i, t, data);
                  });
}

actrt_status actrt_step_get(actrt_step step, actrt_entity entity,
                            const char *name, void *data,
                            const actrt_type *type) {
  return onTensor(step, entity, name, data, type,
                  [&](LoadedStep &s, bool isState, size_t i, DType t) {
                    return isState ? s.getState(i, t, data)
                                   : s.getParameter(i, t, data);
                  });
}

template <typename T>
static actrt_status setScalar(actrt_step step, const char *name, T value) {
  return guarded([&]() -> actrt_status {
    auto s = findStep(step);
    if (!s)
      return ACTRT_INVALID_HANDLE;
    if (!indexOf(s->step().scalars, name))
      return notFound("scalar", name);
    auto r = s->setScalar(name, value);
    return r ? ACTRT_SUCCESS : invalid(r.error().str());
  });
}

actrt_status actrt_step_set_f64(actrt_step step, const char *scalar,
                                double value) {
  return setScalar(step, scalar, value);
}

actrt_status actrt_step_set_i64(actrt_step step, const char *scalar,
                                int64_t value) {
  return setScalar(step, scalar, value);
}

// ---- Running ---------------------------------------------------------------

static actrt_status bindTensor(LoadedStep &s, bool isState,
                               const char *function, const char *name,
                               void *memory, const actrt_type *type) {
  if (function)
    return invalid("parameters and states belong to no function: it must be "
                   "null");
  auto i = isState ? indexOf(s.step().states, name)
                   : indexOf(s.step().parameters, name);
  if (!i)
    return notFound(isState ? "state" : "parameter", name);
  if (!memory)
    return invalid(std::string("the memory for '") + name + "' is null");
  const TensorType &have =
      isState ? s.step().states[*i].type : s.step().parameters[*i].type;
  if (auto c = checkType(name, have, type, true); !c)
    return invalid(c.error().message);
  auto r = isState ? s.bindState(*i, memory) : s.bindParameter(*i, memory);
  return r ? ACTRT_SUCCESS : invalid(r.error().str());
}

actrt_status actrt_step_bind(actrt_step step, const char *function,
                             actrt_entity entity, const char *port,
                             void *memory, const actrt_type *type) {
  return guarded([&]() -> actrt_status {
    auto s = findStep(step);
    if (!s)
      return ACTRT_INVALID_HANDLE;
    if (entity == ACTRT_PARAMETER || entity == ACTRT_STATE)
      return bindTensor(*s, entity == ACTRT_STATE, function, port, memory,
                        type);
    if (entity != ACTRT_INPUT && entity != ACTRT_OUTPUT)
      return invalid("only inputs, outputs, parameters and states are bound");
    auto f = indexOf(s->step().functions, function);
    if (!f)
      return notFound("function", function);
    bool output = entity == ACTRT_OUTPUT;
    const Function &fn = s->step().functions[*f];
    const auto &ports = output ? fn.outputs : fn.inputs;
    auto p = indexOf(ports, port);
    if (!p)
      return fail(ACTRT_NOT_FOUND, "function '" + fn.name + "' has no " +
                                       (output ? "output" : "input") + " '" +
                                       (port ? port : "(null)") + "'");
    if (!memory)
      return invalid(std::string("the memory for '") + port + "' is null");
    if (auto c = checkType(port, ports[*p].type, type, true); !c)
      return invalid(c.error().message);
    auto r = s->bind(*f, output, *p, memory);
    return r ? ACTRT_SUCCESS : invalid(r.error().str());
  });
}

template <typename Body>
// Finds the function by name and runs body(step, index).
static actrt_status onFunction(actrt_step step, const char *function,
                               Body body) {
  return guarded([&]() -> actrt_status {
    auto s = findStep(step);
    if (!s)
      return ACTRT_INVALID_HANDLE;
    auto f = indexOf(s->step().functions, function);
    return f ? body(*s, *f) : notFound("function", function);
  });
}

actrt_status actrt_step_run(actrt_step step, const char *function) {
  return onFunction(step, function,
                    [](LoadedStep &s, size_t f) { return finish(s.run(f)); });
}

actrt_status actrt_step_run_part(actrt_step step, const char *function,
                                 actrt_part part) {
  return onFunction(step, function, [&](LoadedStep &s, size_t f) {
    switch (part) {
    case ACTRT_WHOLE:
      return finish(s.run(f));
    case ACTRT_FORWARD:
      return finish(s.run(f, Part::Forward));
    case ACTRT_BACKWARD:
      return finish(s.run(f, Part::Backward));
    }
    return invalid("the part of the function is unknown");
  });
}

actrt_status actrt_step_measure(actrt_step step, const char *function,
                                actrt_step_statistics *statistics) {
  return onFunction(step, function, [&](LoadedStep &s, size_t f) {
    StepStatistics m = s.statistics(f);
    actrt_step_statistics full{};
    full.parameter_bytes = m.parameterBytes;
    full.gradient_bytes = m.gradientBytes;
    full.optimizer_bytes = m.optimizerBytes;
    full.arena_bytes = m.arenaBytes;
    full.arena_high_water = m.arenaHighWater;
    full.scratch_bytes_per_thread = m.scratchBytesPerThread;
    full.scratch_bytes = m.scratchBytes;
    full.runs = m.runs;
    full.scratch_high_water = m.scratchHighWater;
    full.host_arena_bytes = m.hostArenaBytes;
    full.host_arena_high_water = m.hostArenaHighWater;
    return fillStruct(statistics, full);
  });
}

actrt_status actrt_step_launch_count(actrt_step step, const char *function,
                                     size_t *count) {
  return onFunction(step, function, [&](LoadedStep &s, size_t f) {
    if (!count)
      return invalid("the pointer for the count is null");
    *count = s.step().functions[f].launches.size();
    return ACTRT_SUCCESS;
  });
}

actrt_status actrt_step_launch_query(actrt_step step, const char *function,
                                     size_t index, actrt_launch_info *info) {
  return onFunction(step, function, [&](LoadedStep &s, size_t f) {
    const auto &launches = s.step().functions[f].launches;
    if (index >= launches.size())
      return fail(ACTRT_NOT_FOUND, "function '" + std::string(function) +
                                       "' has no launch " +
                                       std::to_string(index) + ", it has " +
                                       std::to_string(launches.size()));
    const Launch &launch = launches[index];
    actrt_launch_info full{};
    full.name = launch.name.c_str();
    full.kernel = launch.kernel == copyKernel
                      ? ""
                      : s.step().kernels[launch.kernel].symbol.c_str();
    full.milliseconds = s.milliseconds(f)[index];
    return fillStruct(info, full);
  });
}
