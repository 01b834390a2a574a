// SPDX-License-Identifier: Apache-2.0
//
// A step on a device, through the C interface alone.
#include "tools/act-run/Model.h"
#include "act/Artifact/Convert.h"
#include "act/Artifact/Format.h"
#include "act/Artifact/Memory.h"
#include "act/Artifact/Types.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace act;
using namespace act::run;

static Status check(actrt_status code) {
  return code == ACTRT_SUCCESS ? ok() : Status(Error{actrt_last_error(), ""});
}

uint64_t Entity::elements() const {
  uint64_t n = 1;
  for (uint32_t i = 0; i < type.rank; ++i)
    n *= static_cast<uint64_t>(type.shape[i]);
  return n;
}

std::string run::describe(const Entity &e) {
  artifact::TensorType t;
  t.dtype = static_cast<artifact::DType>(e.type.dtype);
  t.shape = e.shape();
  return e.name + ": " + artifact::typeName(t);
}

static std::string inGiB(uint64_t bytes) {
  char text[64];
  snprintf(text, sizeof text, " bytes (%.2f GiB)",
           static_cast<double>(bytes) / (1u << 30));
  return std::to_string(bytes) + text;
}

// The runtime rejects such a step too, but only here can the error give advice.
static Status checkFits(const artifact::Step &step, actrt_device device,
                        StepSource &source) {
  actrt_device_info info{};
  info.struct_size = sizeof info;
  if (auto s = check(actrt_device_query(device, &info)); !s)
    return s;
  // Only the host's kernels have scratch memory for each thread.
  artifact::StepMemory need = artifact::memoryOf(
      step, std::string(info.kind) == "host" ? info.threads : 0);
  uint64_t there =
      std::string(info.kind) == "cuda" ? need.onDevice() : need.total();
  if (there <= info.free_bytes)
    return ok();
  return Error{"the step needs " + need.text() + "\n  device " + info.name +
                   " has " + inGiB(info.free_bytes) + " free (" +
                   info.free_limit + "), the step takes " + inGiB(there) +
                   " there\n  " + source.advice(there, info.free_bytes) +
                   "\n  --any-memory runs it anyway",
               ""};
}

// The runtime gets the step as artifact bytes, even one that was compiled in
// this process: the C interface takes nothing else, and so both ways to a step
// pass the same checks.
Result<std::unique_ptr<Model>> Model::load(StepSource &source,
                                           const ModelOptions &options) {
  auto step = source.load();
  if (!step)
    return step.error();
  auto bytes = artifact::write(*step);
  if (!bytes)
    return bytes.error();
  std::unique_ptr<Model> m(new Model);
  actrt_device_options o{};
  o.struct_size = sizeof o;
  o.threads = options.threads;
  if (auto s = check(actrt_device_open(options.device.c_str(), &o, &m->device));
      !s)
    return s.error();
  uint32_t flags = 0;
  if (options.allowNative || source.compiledHere())
    flags |= ACTRT_ALLOW_NATIVE;
  flags |= options.debug ? ACTRT_DEBUG : 0;
  flags |= options.measure ? ACTRT_MEASURE : 0;
  flags |= options.time ? ACTRT_TIME : 0;
  flags |= options.anyMemory ? ACTRT_ANY_MEMORY : 0;
  if (!options.anyMemory)
    if (auto s = checkFits(*step, m->device, source); !s)
      return s.error();
  if (auto s = check(actrt_step_load_memory(m->device, bytes->data(),
                                            bytes->size(), flags, &m->step));
      !s) {
    bool refused = !(flags & ACTRT_ALLOW_NATIVE) && step->device == "host" &&
                   options.device == "host";
    return Error{s.error().message +
                     (refused ? " (--allow-native runs an artifact from "
                                "elsewhere)"
                              : ""),
                 ""};
  }
  if (auto s = m->describeAll(); !s)
    return s.error();
  // Facts that the data sources need; the runtime does not.
  m->vocabulary =
      static_cast<int64_t>(std::min<uint64_t>(step->vocabulary, INT64_MAX));
  m->maxPositions = step->maxPositions;
  m->predictsNext = step->predictsNext;
  m->lossAverage = step->lossAverage;
  return m;
}

Model::~Model() {
  if (step)
    actrt_step_release(step);
  if (device)
    actrt_device_release(device);
}

Result<std::vector<Entity>> Model::list(actrt_entity kind,
                                        const char *function) {
  size_t count = 0;
  if (auto s = check(actrt_step_count(step, kind, function, &count)); !s)
    return s.error();
  std::vector<Entity> out;
  for (size_t i = 0; i < count; ++i) {
    actrt_entity_info info{};
    info.struct_size = sizeof info;
    if (auto s = check(actrt_step_describe(step, kind, function, i, &info)); !s)
      return s.error();
    Entity e;
    e.name = info.name;
    e.type = info.type;
    e.bytes = info.bytes;
    e.frozen = info.frozen;
    e.role = info.role;
    e.parameter = info.parameter ? info.parameter : "";
    for (uint32_t k = 0; k < info.tied; ++k) {
      const char *tied = nullptr;
      if (auto s = check(actrt_step_tied_name(step, info.name, k, &tied)); !s)
        return s.error();
      e.tied.push_back(tied);
    }
    out.push_back(std::move(e));
  }
  return out;
}

Status Model::describeAll() {
  actrt_step_info info{};
  info.struct_size = sizeof info;
  actrt_device_info d{};
  d.struct_size = sizeof d;
  if (auto s = check(actrt_step_query(step, &info)); !s)
    return s;
  if (auto s = check(actrt_device_query(device, &d)); !s)
    return s;
  name = info.model;
  optimizer = info.optimizer;
  report = info.report;
  microBatches = info.micro_batches;
  threads = d.threads;
  onHost = d.host_addressable;
  auto p = list(ACTRT_PARAMETER, nullptr), s = list(ACTRT_STATE, nullptr),
       c = list(ACTRT_SCALAR, nullptr), f = list(ACTRT_FUNCTION, nullptr);
  for (auto *r : {&p, &s, &c, &f})
    if (!*r)
      return r->error();
  parameters = std::move(*p);
  states = std::move(*s);
  for (Entity &e : *c)
    scalars.push_back(e.name);
  for (Entity &e : *f)
    functions.push_back(e.name);
  return ok();
}

const Entity *Model::parameter(const std::string &wanted) const {
  for (const Entity &e : parameters)
    if (e.name == wanted)
      return &e;
  return nullptr;
}

bool Model::hasFunction(const std::string &f) const {
  return std::find(functions.begin(), functions.end(), f) != functions.end();
}

bool Model::hasScalar(const std::string &s) const {
  return std::find(scalars.begin(), scalars.end(), s) != scalars.end();
}

Status Model::initialise(const Entity &parameter, uint64_t seed) {
  return check(
      actrt_step_initialise_parameter(step, parameter.name.c_str(), seed));
}

Status Model::set(actrt_entity kind, const std::string &n, const void *data,
                  const actrt_type &type) {
  return check(actrt_step_set(step, kind, n.c_str(), data, &type));
}

Result<std::vector<uint8_t>> Model::get(actrt_entity kind, const Entity &entity,
                                        actrt_dtype as) {
  actrt_type type = entity.type;
  type.dtype = as;
  uint64_t width = artifact::elementBytes(static_cast<artifact::DType>(as));
  std::vector<uint8_t> out(width ? entity.elements() * width : entity.bytes);
  // A tensor without elements has no bytes to point at, but the C interface
  // refuses a null address.
  uint8_t none;
  if (auto s = check(actrt_step_get(step, kind, entity.name.c_str(),
                                    out.empty() ? &none : out.data(), &type));
      !s)
    return s.error();
  return out;
}

Status Model::setScalar(const std::string &n, double value) {
  return hasScalar(n) ? check(actrt_step_set_f64(step, n.c_str(), value))
                      : ok();
}

Status Model::setScalar(const std::string &n, int64_t value) {
  return hasScalar(n) ? check(actrt_step_set_i64(step, n.c_str(), value))
                      : ok();
}

// Gives every port of a function memory of its own, which lives as long as the
// result.
Result<std::unique_ptr<Ports>> Model::bindPorts(const std::string &function) {
  auto in = list(ACTRT_INPUT, function.c_str());
  if (!in)
    return in.error();
  auto out = list(ACTRT_OUTPUT, function.c_str());
  if (!out)
    return out.error();
  auto ports = std::make_unique<Ports>();
  ports->inputs = std::move(*in);
  ports->outputs = std::move(*out);
  ports->maxPositions = maxPositions;
  for (bool output : {false, true})
    for (const Entity &e : output ? ports->outputs : ports->inputs) {
      // aligned_alloc takes sizes that are multiples of the alignment.
      uint64_t bytes = (e.bytes + 63) / 64 * 64;
      auto *p =
          static_cast<uint8_t *>(std::aligned_alloc(64, bytes ? bytes : 64));
      if (!p)
        return Error{"cannot allocate " + std::to_string(bytes) +
                         " bytes for port '" + e.name + "'",
                     ""};
      std::memset(p, 0, bytes);
      if (!ports->memory.emplace(e.name, p).second)
        return Error{"function '" + function +
                         "' has an input and an output '" + e.name + "'",
                     ""};
      if (auto s = check(actrt_step_bind(step, function.c_str(),
                                         output ? ACTRT_OUTPUT : ACTRT_INPUT,
                                         e.name.c_str(), p, &e.type));
          !s)
        return s.error();
    }
  return ports;
}

Status Model::run(const std::string &function) {
  return check(actrt_step_run(step, function.c_str()));
}

Result<actrt_step_statistics> Model::statistics(const std::string &function) {
  actrt_step_statistics s{};
  s.struct_size = sizeof s;
  if (auto c = check(actrt_step_measure(step, function.c_str(), &s)); !c)
    return c.error();
  return s;
}

Result<std::vector<Launch>> Model::launches(const std::string &function) {
  size_t count = 0;
  if (auto c = check(actrt_step_launch_count(step, function.c_str(), &count));
      !c)
    return c.error();
  std::vector<Launch> list;
  for (size_t i = 0; i < count; ++i) {
    actrt_launch_info info{};
    info.struct_size = sizeof info;
    if (auto c =
            check(actrt_step_launch_query(step, function.c_str(), i, &info));
        !c)
      return c.error();
    list.push_back({info.name, info.kernel, info.milliseconds});
  }
  return list;
}

// ---- Ports -----------------------------------------------------------------

void Ports::Release::operator()(void *p) const { std::free(p); }

static const Entity *find(const std::vector<Entity> &list,
                          const std::string &name) {
  for (const Entity &e : list)
    if (e.name == name)
      return &e;
  return nullptr;
}

const Entity *Ports::input(const std::string &n) const {
  return find(inputs, n);
}
const Entity *Ports::output(const std::string &n) const {
  return find(outputs, n);
}

const uint8_t *Ports::data(const std::string &port) const {
  auto it = memory.find(port);
  return it == memory.end() ? nullptr : it->second.get();
}

double Ports::value(const std::string &port, size_t i) const {
  return artifact::loadFloat(
      static_cast<artifact::DType>(output(port)->type.dtype), data(port), i);
}

Status Ports::set(const std::string &port, const std::vector<int64_t> &values) {
  const Entity *e = input(port);
  if (!e)
    return Error{"there is no input '" + port + "'", ""};
  if (values.size() != e->elements())
    return Error{"input '" + describe(*e) + "' takes " +
                     std::to_string(e->elements()) + " values, given " +
                     std::to_string(values.size()),
                 ""};
  uint8_t *p = memory.at(port).get();
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t v = values[i];
    switch (e->type.dtype) {
    case ACTRT_DTYPE_I1:
      p[i] = v != 0;
      break;
    case ACTRT_DTYPE_I32: {
      if (v < INT32_MIN || v > INT32_MAX)
        return Error{"input '" + port + "' is given " + std::to_string(v) +
                         ", which is not an i32",
                     ""};
      auto narrow = static_cast<int32_t>(v);
      std::memcpy(p + 4 * i, &narrow, 4);
      break;
    }
    case ACTRT_DTYPE_I64:
      std::memcpy(p + 8 * i, &v, 8);
      break;
    default:
      return Error{"input '" + describe(*e) + "' does not hold integers", ""};
    }
  }
  return ok();
}

// ---- Type names ------------------------------------------------------------

static const std::pair<actrt_dtype, const char *> typeNames[] = {
    {ACTRT_DTYPE_F64, "F64"},
    {ACTRT_DTYPE_F32, "F32"},
    {ACTRT_DTYPE_BF16, "BF16"},
    {ACTRT_DTYPE_F16, "F16"},
    {ACTRT_DTYPE_F8E4M3FN, "F8_E4M3"},
    {ACTRT_DTYPE_I1, "BOOL"},
    {ACTRT_DTYPE_I32, "I32"},
    {ACTRT_DTYPE_I64, "I64"},
    {ACTRT_DTYPE_U8, "U8"}};

const char *run::safetensorsName(actrt_dtype dtype) {
  for (auto &[d, n] : typeNames)
    if (d == dtype)
      return n;
  return nullptr;
}

Result<actrt_dtype> run::fromSafetensors(const std::string &dtype) {
  for (auto &[d, n] : typeNames)
    if (n == dtype)
      return d;
  return Error{"the element type " + dtype + " is not supported", ""};
}
