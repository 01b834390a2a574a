// SPDX-License-Identifier: Apache-2.0
#include "act-c/Runtime.h"
#include "act-c/DLPack.h"
#include "python/src/Errors.h"
#include <algorithm>
#include <map>
#include <memory>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>
#include <optional>

namespace nb = nanobind;
using namespace act::python;

namespace {

using Array = nb::ndarray<nb::c_contig>;
using ConstArray = nb::ndarray<nb::ro, nb::c_contig>;

const char *const dtypeNames[] = {"f64", "f32", "bf16", "f16", "f8E4M3FN",
                                  "i1",  "i32", "i64",  "nf4", "nf4_nested"};

/// The element type of an array, or an exception that names it.
actrt_dtype dtypeOf(nb::dlpack::dtype t) {
  using Code = nb::dlpack::dtype_code;
  constexpr int float8 = 10; // kDLFloat8_e4m3fn
  auto is = [&](Code code, int bits) {
    return t.code == uint8_t(code) && t.bits == bits && t.lanes == 1;
  };
  if (is(Code::Float, 64))
    return ACTRT_DTYPE_F64;
  if (is(Code::Float, 32))
    return ACTRT_DTYPE_F32;
  if (is(Code::Float, 16))
    return ACTRT_DTYPE_F16;
  if (is(Code::Bfloat, 16))
    return ACTRT_DTYPE_BF16;
  if (is(Code(float8), 8))
    return ACTRT_DTYPE_F8E4M3FN;
  if (is(Code::Bool, 8))
    return ACTRT_DTYPE_I1;
  if (is(Code::Int, 32))
    return ACTRT_DTYPE_I32;
  if (is(Code::Int, 64))
    return ACTRT_DTYPE_I64;
  throw DeviceError{"act has no element type of DLPack code " +
                        std::to_string(t.code) + " and " +
                        std::to_string(t.bits) + " bits",
                    {}};
}

template <typename A> actrt_type typeOf(const A &a) {
  actrt_type t{};
  t.dtype = dtypeOf(a.dtype());
  if (a.ndim() > ACTRT_MAX_RANK)
    throw nb::value_error("an array has more than 16 dimensions");
  t.rank = uint32_t(a.ndim());
  for (size_t i = 0; i < a.ndim(); ++i)
    t.shape[i] = int64_t(a.shape(i));
  return t;
}

/// Of a device: its handle, and findings as exceptions.
class Device {
public:
  Device(const std::string &name, const actrt_device_options &options) {
    if (actrt_device_open(name.c_str(), &options, &handle))
      throw DeviceError{actrt_last_error(), {}};
    info.struct_size = sizeof info;
    check(actrt_device_query(handle, &info));
  }
  Device(const Device &) = delete;
  ~Device() { actrt_device_release(handle); }

  /// Throws for a failed call, with the findings that the device has by then.
  void check(actrt_status status) const {
    if (!status)
      return;
    DeviceError error{actrt_last_error(), {}};
    uint64_t count = 0;
    size_t bytes = 0;
    if (status == ACTRT_FAILED &&
        !actrt_device_findings(handle, &count, nullptr, &bytes) && count) {
      std::string text(bytes, '\0');
      actrt_device_findings(handle, &count, text.data(), &bytes);
      text.resize(text.find_last_not_of('\0') + 1);
      // One finding is a line, and the lines about it that are indented.
      for (size_t at = 0; at < text.size();) {
        size_t end = text.find('\n', at);
        std::string line = text.substr(at, end - at);
        if (!error.findings.empty() && !line.empty() && line[0] == ' ')
          error.findings.back() += "\n" + line;
        else if (!line.empty())
          error.findings.push_back(line);
        at = end == std::string::npos ? text.size() : end + 1;
      }
      actrt_device_clear_findings(handle);
    }
    throw error;
  }

  actrt_device handle = nullptr;
  actrt_device_info info{};
};

using DeviceRef = std::shared_ptr<Device>;

/// Memory of a device with a shape.
class Buffer {
public:
  Buffer(DeviceRef device, void *address, const actrt_type &type)
      : device(std::move(device)), address(address), type(type) {}
  Buffer(const Buffer &) = delete;
  ~Buffer() { actrt_free(device->handle, address); }

  /// A copy of the array, or the array's own memory if the device can use it.
  static std::unique_ptr<Buffer> from(DeviceRef device, ConstArray array) {
    struct Owner {
      DLManagedTensor tensor{};
      std::vector<int64_t> shape;
      nb::object keep;
    };
    auto owner = std::make_unique<Owner>();
    for (size_t i = 0; i < array.ndim(); ++i)
      owner->shape.push_back(int64_t(array.shape(i)));
    DLTensor &t = owner->tensor.dl_tensor;
    t.data = const_cast<void *>(array.data());
    t.device.device_type = DLDeviceType(array.device_type());
    t.device.device_id = array.device_id();
    t.ndim = int32_t(array.ndim());
    t.dtype = {array.dtype().code, array.dtype().bits, array.dtype().lanes};
    t.shape = owner->shape.data();
    owner->keep = nb::cast(array);
    owner->tensor.manager_ctx = owner.get();
    owner->tensor.deleter = [](DLManagedTensor *self) {
      nb::gil_scoped_acquire acquire;
      delete static_cast<Owner *>(self->manager_ctx);
    };
    actrt_type type{};
    void *address = nullptr;
    device->check(actrt_from_dlpack(device->handle, &owner.release()->tensor,
                                    &address, &type));
    return std::make_unique<Buffer>(std::move(device), address, type);
  }

  uint64_t bytes() const {
    static const int width[] = {8, 4, 2, 2, 1, 1, 4, 8};
    uint64_t n = type.dtype <= ACTRT_DTYPE_I64 ? width[type.dtype] : 0;
    for (uint32_t i = 0; i < type.rank; ++i)
      n *= uint64_t(type.shape[i]);
    return n;
  }
  /// Copies all of it to an array of the same type.
  void read(Array to) const {
    actrt_type given = typeOf(to);
    if (given.dtype != type.dtype || given.rank != type.rank ||
        !std::equal(type.shape, type.shape + type.rank, given.shape))
      throw nb::value_error("the array has another type than the buffer");
    actrt_stream stream = nullptr;
    device->check(actrt_stream_create(device->handle, &stream));
    actrt_status status =
        actrt_copy(stream, to.data(), address, bytes(), ACTRT_DEVICE_TO_HOST);
    if (!status)
      status = actrt_stream_synchronize(stream);
    actrt_stream_release(stream);
    device->check(status);
  }

  DeviceRef device;
  void *address;
  actrt_type type;
};

using Argument = std::variant<Buffer *, bool, int64_t, double>;

class Kernel {
public:
  Kernel(DeviceRef device, nb::bytes code, std::string name, uint32_t flags)
      : device(std::move(device)) {
    const actrt_device d = this->device->handle;
    this->device->check(
        actrt_module_load(d, code.c_str(), code.size(), flags, &module));
    actrt_status status = actrt_function_get(module, name.c_str(), &function);
    if (status) {
      actrt_module_release(module);
      this->device->check(status);
    }
  }
  Kernel(const Kernel &) = delete;
  ~Kernel() {
    actrt_function_release(function);
    actrt_module_release(module);
  }

  /// `types` has a letter for each argument: p, i (i32), l (i64), f, d.
  void launch(std::vector<uint32_t> grid, std::vector<uint32_t> block,
              uint64_t shared, std::vector<uint32_t> cluster, bool persistent,
              uint32_t atOnce, std::string types,
              std::vector<Argument> arguments) {
    actrt_launch_shape shape{};
    shape.struct_size = sizeof shape;
    std::copy_n(grid.begin(), std::min<size_t>(3, grid.size()), shape.grid);
    std::copy_n(block.begin(), std::min<size_t>(3, block.size()), shape.block);
    std::copy_n(cluster.begin(), std::min<size_t>(3, cluster.size()),
                shape.cluster);
    shape.shared_bytes = shared;
    shape.persistent = persistent;
    shape.at_once = atOnce;
    if (types.size() != arguments.size())
      throw DeviceError{"the kernel takes " + std::to_string(types.size()) +
                            " arguments, got " +
                            std::to_string(arguments.size()),
                        {}};
    std::vector<actrt_argument> list;
    for (size_t i = 0; i < arguments.size(); ++i)
      list.push_back(argument(types[i], arguments[i], i));
    nb::gil_scoped_release release;
    actrt_stream stream = nullptr;
    actrt_status status = actrt_stream_create(device->handle, &stream);
    if (!status)
      status = actrt_launch(function, stream, &shape, list.data(), list.size());
    if (!status)
      status = actrt_stream_synchronize(stream);
    if (stream)
      actrt_stream_release(stream);
    if (status) {
      nb::gil_scoped_acquire acquire;
      device->check(status);
    }
  }

private:
  static actrt_argument argument(char type, const Argument &given, size_t at) {
    actrt_argument a{};
    auto wrong = [&](const char *expected) {
      throw DeviceError{
          "argument " + std::to_string(at) + ": expected " + expected, {}};
    };
    if (type == 'p') {
      auto *buffer = std::get_if<Buffer *>(&given);
      if (!buffer || !*buffer)
        wrong("memory of the device");
      a.kind = ACTRT_POINTER;
      a.value.pointer = (*buffer)->address;
      return a;
    }
    if (std::holds_alternative<Buffer *>(given))
      wrong("a number");
    auto *whole = std::get_if<int64_t>(&given);
    auto *truth = std::get_if<bool>(&given);
    auto *real = std::get_if<double>(&given);
    if (type == 'f' || type == 'd') {
      double value = real ? *real : whole ? double(*whole) : double(*truth);
      a.kind = type == 'f' ? ACTRT_F32 : ACTRT_F64;
      if (type == 'f')
        a.value.f32 = float(value);
      else
        a.value.f64 = value;
      return a;
    }
    if (real)
      wrong("an integer");
    int64_t value = whole ? *whole : int64_t(*truth);
    a.kind = type == 'i' ? ACTRT_I32 : ACTRT_I64;
    if (type == 'i') {
      if (value < INT32_MIN || value > INT32_MAX)
        wrong("an integer of 32 bits");
      a.value.i32 = int32_t(value);
    } else {
      a.value.i64 = value;
    }
    return a;
  }

  DeviceRef device;
  actrt_module module = nullptr;
  actrt_function function = nullptr;
};

/// A parameter, state, scalar, function, input or output of a step.
struct Entity {
  std::string name, dtype;
  std::vector<int64_t> shape;
  uint64_t bytes = 0;
  bool frozen = false, backward = false;
  std::string role;
  std::optional<std::string> parameter, updates;
};

class Step {
public:
  Step(DeviceRef device, nb::bytes artifact, uint32_t flags)
      : device(std::move(device)) {
    const void *data = artifact.c_str();
    size_t size = artifact.size();
    actrt_status status;
    {
      nb::gil_scoped_release release;
      status = actrt_step_load_memory(this->device->handle, data, size, flags,
                                      &handle);
    }
    this->device->check(status);
  }
  Step(const Step &) = delete;
  ~Step() { actrt_step_release(handle); }

  std::vector<Entity> list(actrt_entity kind,
                           std::optional<std::string> function) const {
    const char *f = function ? function->c_str() : nullptr;
    size_t count = 0;
    check(actrt_step_count(handle, kind, f, &count));
    std::vector<Entity> out;
    for (size_t i = 0; i < count; ++i) {
      actrt_entity_info info{};
      info.struct_size = sizeof info;
      check(actrt_step_describe(handle, kind, f, i, &info));
      static const char *const roles[] = {"",        "gradient",   "master",
                                          "exp_avg", "exp_avg_sq", "momentum"};
      Entity e;
      e.name = info.name;
      if (kind != ACTRT_FUNCTION)
        e.dtype = dtypeNames[info.type.dtype];
      e.shape.assign(info.type.shape, info.type.shape + info.type.rank);
      e.bytes = info.bytes;
      e.frozen = info.frozen;
      e.backward = info.backward;
      e.role = roles[info.role];
      if (info.parameter)
        e.parameter = info.parameter;
      if (info.updates)
        e.updates = info.updates;
      out.push_back(std::move(e));
    }
    return out;
  }

  void initialise(uint64_t seed) {
    call([&] { return actrt_step_initialise(handle, seed); });
  }
  void set(actrt_entity kind, const std::string &name, ConstArray array) {
    actrt_type type = typeOf(array);
    const void *data = array.data();
    call([&] {
      return actrt_step_set(handle, kind, name.c_str(), data, &type);
    });
  }
  void get(actrt_entity kind, const std::string &name, Array array) {
    actrt_type type = typeOf(array);
    void *data = array.data();
    call([&] {
      return actrt_step_get(handle, kind, name.c_str(), data, &type);
    });
  }
  void setScalar(const std::string &name, std::variant<int64_t, double> value) {
    auto *whole = std::get_if<int64_t>(&value);
    check(whole ? actrt_step_set_i64(handle, name.c_str(), *whole)
                : actrt_step_set_f64(handle, name.c_str(),
                                     std::get<double>(value)));
  }
  /// `array` is kept until the port is bound again.
  void bind(std::optional<std::string> function, actrt_entity kind,
            const std::string &name, ConstArray array) {
    actrt_type type = typeOf(array);
    void *memory = const_cast<void *>(array.data());
    Held held{nb::cast(array), nullptr};
    // Memory of a GPU belongs to the device once it is known there.
    if (array.device_type() != nb::device::cpu::value) {
      held.buffer = Buffer::from(device, array);
      memory = held.buffer->address;
    }
    check(actrt_step_bind(handle, function ? function->c_str() : nullptr, kind,
                          name.c_str(), memory, &type));
    bound[{function.value_or(""), int(kind), name}] = std::move(held);
  }
  /// Lets go of the arrays that are bound; they must be bound again.
  void release() { bound.clear(); }
  void run(const std::string &function, actrt_part part) {
    call([&] { return actrt_step_run_part(handle, function.c_str(), part); });
  }
  nb::dict statistics(const std::string &function) const {
    actrt_step_statistics s{};
    s.struct_size = sizeof s;
    check(actrt_step_measure(handle, function.c_str(), &s));
    nb::dict out;
    out["parameter_bytes"] = s.parameter_bytes;
    out["gradient_bytes"] = s.gradient_bytes;
    out["optimizer_bytes"] = s.optimizer_bytes;
    out["arena_bytes"] = s.arena_bytes;
    out["arena_high_water"] = s.arena_high_water;
    out["host_arena_bytes"] = s.host_arena_bytes;
    out["host_arena_high_water"] = s.host_arena_high_water;
    out["scratch_bytes"] = s.scratch_bytes;
    out["scratch_high_water"] = s.scratch_high_water;
    out["runs"] = s.runs;
    return out;
  }
  std::vector<std::tuple<std::string, std::string, double>>
  launches(const std::string &function) const {
    size_t count = 0;
    check(actrt_step_launch_count(handle, function.c_str(), &count));
    std::vector<std::tuple<std::string, std::string, double>> out;
    for (size_t i = 0; i < count; ++i) {
      actrt_launch_info info{};
      info.struct_size = sizeof info;
      check(actrt_step_launch_query(handle, function.c_str(), i, &info));
      out.emplace_back(info.name, info.kernel, info.milliseconds);
    }
    return out;
  }
  nb::dict about() const {
    actrt_step_info info{};
    info.struct_size = sizeof info;
    check(actrt_step_query(handle, &info));
    nb::dict out;
    out["model"] = info.model;
    out["target"] = info.target;
    out["optimizer"] = info.optimizer;
    out["report"] = info.report;
    out["micro_batches"] = info.micro_batches;
    return out;
  }

private:
  struct Held {
    nb::object array;
    std::unique_ptr<Buffer> buffer;
  };
  void check(actrt_status status) const { device->check(status); }
  template <typename Call> void call(Call body) {
    actrt_status status;
    {
      nb::gil_scoped_release release;
      status = body();
      if (status)
        message = actrt_last_error();
    }
    check(status);
  }

  DeviceRef device;
  actrt_step handle = nullptr;
  std::string message;
  std::map<std::tuple<std::string, int, std::string>, Held> bound;
};

DeviceRef open(const std::string &name, uint32_t threads, bool checks,
               uint64_t seed, uint64_t maxInstructions, bool strict) {
  actrt_device_options o{};
  o.struct_size = sizeof o;
  o.threads = threads;
  o.without_checks = !checks;
  o.seed = seed;
  o.max_instructions = maxInstructions;
  o.strict = strict;
  return std::make_shared<Device>(name, o);
}

} // namespace

void act::python::bindRuntime(nb::module_ &module) {
  nb::class_<Device>(module, "Device")
      .def_prop_ro("name", [](const Device &d) { return d.info.name; })
      .def_prop_ro("kind", [](const Device &d) { return d.info.kind; })
      .def_prop_ro("target", [](const Device &d) { return d.info.target; })
      .def_prop_ro("memory_bytes",
                   [](const Device &d) { return d.info.memory_bytes; })
      .def("memory", [](const Device &d) {
        actrt_memory_info m{};
        m.struct_size = sizeof m;
        d.check(actrt_memory_query(d.handle, &m));
        return std::make_tuple(m.current_bytes, m.peak_bytes, m.allocations);
      });
  module.def("open_device", &open, nb::arg("name"), nb::arg("threads"),
             nb::arg("checks"), nb::arg("seed"), nb::arg("max_instructions"),
             nb::arg("strict"));
  nb::class_<Buffer>(module, "Buffer")
      .def_static("from_array", &Buffer::from, nb::arg("device"),
                  nb::arg("array"))
      .def("read", &Buffer::read, nb::arg("array"))
      .def_prop_ro("dtype",
                   [](const Buffer &b) { return dtypeNames[b.type.dtype]; })
      .def_prop_ro("shape", [](const Buffer &b) {
        return std::vector<int64_t>(b.type.shape, b.type.shape + b.type.rank);
      });
  nb::class_<Kernel>(module, "Kernel")
      .def(nb::init<DeviceRef, nb::bytes, std::string, uint32_t>(),
           nb::arg("device"), nb::arg("code"), nb::arg("name"),
           nb::arg("flags"))
      .def("launch", &Kernel::launch, nb::arg("grid"), nb::arg("block"),
           nb::arg("shared"), nb::arg("cluster"), nb::arg("persistent"),
           nb::arg("at_once"), nb::arg("types"), nb::arg("arguments"));
  nb::class_<Entity>(module, "Entity",
                     "A parameter, state, scalar, function, input or output.")
      .def_ro("name", &Entity::name)
      .def_ro("dtype", &Entity::dtype)
      .def_ro("shape", &Entity::shape)
      .def_ro("bytes", &Entity::bytes)
      .def_ro("frozen", &Entity::frozen)
      .def_ro("role", &Entity::role)
      .def_ro("parameter", &Entity::parameter)
      .def_ro("backward", &Entity::backward)
      .def_ro("updates", &Entity::updates)
      .def("__repr__", [](const Entity &e) {
        std::string shape;
        for (int64_t d : e.shape)
          shape += std::to_string(d) + "x";
        return "<" + e.name + ": " + shape + e.dtype + ">";
      });
  nb::enum_<actrt_entity>(module, "EntityKind")
      .value("PARAMETER", ACTRT_PARAMETER)
      .value("STATE", ACTRT_STATE)
      .value("SCALAR", ACTRT_SCALAR)
      .value("FUNCTION", ACTRT_FUNCTION)
      .value("INPUT", ACTRT_INPUT)
      .value("OUTPUT", ACTRT_OUTPUT);
  nb::enum_<actrt_part>(module, "Part")
      .value("WHOLE", ACTRT_WHOLE)
      .value("FORWARD", ACTRT_FORWARD)
      .value("BACKWARD", ACTRT_BACKWARD);
  nb::class_<Step>(module, "Step")
      .def(nb::init<DeviceRef, nb::bytes, uint32_t>(), nb::arg("device"),
           nb::arg("artifact"), nb::arg("flags"))
      .def("list", &Step::list, nb::arg("kind"),
           nb::arg("function") = nb::none())
      .def("initialise", &Step::initialise, nb::arg("seed"))
      .def("set", &Step::set, nb::arg("kind"), nb::arg("name"),
           nb::arg("array"))
      .def("get", &Step::get, nb::arg("kind"), nb::arg("name"),
           nb::arg("array"))
      .def("set_scalar", &Step::setScalar, nb::arg("name"), nb::arg("value"))
      .def("bind", &Step::bind, nb::arg("function").none(), nb::arg("kind"),
           nb::arg("name"), nb::arg("array"))
      .def("release", &Step::release)
      .def("run", &Step::run, nb::arg("function"), nb::arg("part"))
      .def("statistics", &Step::statistics, nb::arg("function"))
      .def("launches", &Step::launches, nb::arg("function"))
      .def("about", &Step::about);
}
