// SPDX-License-Identifier: Apache-2.0
#include "python/src/Device.h"
#include <map>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>
#include <optional>

namespace nb = nanobind;
using namespace act::python;

namespace {

/// A parameter, state, scalar, function, input or output of a step.
struct Entity {
  std::string name, dtype;
  std::vector<int64_t> shape;
  uint64_t bytes = 0;
  bool frozen = false, backward = false;
  std::string role;
  std::optional<std::string> parameter, updates;
  std::vector<std::string> tied;
};

class Step {
public:
  Step(DeviceRef device, nb::bytes artifact, uint32_t flags)
      : device(std::move(device)) {
    const void *data = artifact.c_str();
    size_t size = artifact.size();
    call([&] {
      return actrt_step_load_memory(this->device->handle, data, size, flags,
                                    &handle);
    });
  }
  Step(const Step &) = delete;
  ~Step() {
    withoutGil([&] { return actrt_step_release(handle); });
  }

  std::vector<Entity> entities(actrt_entity kind,
                               std::optional<std::string> function) const {
    const char *f = function ? function->c_str() : nullptr;
    size_t count = 0;
    check(actrt_step_count(handle, kind, f, &count));
    std::vector<Entity> out;
    for (size_t i = 0; i < count; ++i) {
      auto info = device->asked<actrt_entity_info>([&](auto *out) {
        return actrt_step_describe(handle, kind, f, i, out);
      });
      static const char *const roles[] = {"",
                                          "gradient",
                                          "master",
                                          "exp_avg",
                                          "exp_avg_sq",
                                          "momentum",
                                          "exp_avg_codes",
                                          "exp_avg_scales",
                                          "exp_avg_sq_codes",
                                          "exp_avg_sq_scales"};
      Entity e;
      e.name = info.name;
      if (kind != ACTRT_FUNCTION)
        e.dtype = nameOf(info.type.dtype);
      e.shape.assign(info.type.shape, info.type.shape + info.type.rank);
      e.bytes = info.bytes;
      e.frozen = info.frozen;
      e.backward = info.backward;
      e.role = roles[info.role];
      if (info.parameter)
        e.parameter = info.parameter;
      if (info.updates)
        e.updates = info.updates;
      for (uint32_t k = 0; k < info.tied; ++k) {
        const char *tied = nullptr;
        check(actrt_step_tied_name(handle, info.name, k, &tied));
        e.tied.push_back(tied);
      }
      out.push_back(std::move(e));
    }
    return out;
  }

  void initialise(uint64_t seed) {
    call([&] { return actrt_step_initialise(handle, seed); });
  }
  void initialiseParameter(const std::string &name, uint64_t seed) {
    call([&] {
      return actrt_step_initialise_parameter(handle, name.c_str(), seed);
    });
  }
  void set(actrt_entity kind, const std::string &name, nb::handle given) {
    ConstArray array = readable(given);
    actrt_type type = typeOf(array);
    const void *data = array.data();
    call([&] {
      return actrt_step_set(handle, kind, name.c_str(), data, &type);
    });
  }
  void get(actrt_entity kind, const std::string &name, nb::handle given) {
    Array array = writable(given);
    actrt_type type = typeOf(ConstArray(array));
    void *data = array.data();
    call([&] {
      return actrt_step_get(handle, kind, name.c_str(), data, &type);
    });
  }
  void setScalar(const std::string &name, std::variant<int64_t, double> value) {
    auto *whole = std::get_if<int64_t>(&value);
    call([&] {
      return whole ? actrt_step_set_i64(handle, name.c_str(), *whole)
                   : actrt_step_set_f64(handle, name.c_str(),
                                        std::get<double>(value));
    });
  }
  /// `array` is kept until the port is bound again.
  void bind(std::optional<std::string> function, actrt_entity kind,
            const std::string &name, nb::handle given) {
    ConstArray array =
        kind == ACTRT_INPUT ? readable(given) : ConstArray(writable(given));
    actrt_type type = typeOfBound(kind, name, array);
    void *memory = const_cast<void *>(array.data());
    Held held{nb::cast(array), nullptr};
    // Memory of a GPU belongs to the device once it is known there.
    if (array.device_type() != nb::device::cpu::value) {
      held.buffer = Buffer::from(device, given);
      memory = held.buffer->address;
    }
    call([&] {
      return actrt_step_bind(handle, function ? function->c_str() : nullptr,
                             kind, name.c_str(), memory, &type);
    });
    bound[{function.value_or(""), int(kind), name}] = std::move(held);
  }
  /// Lets go of the arrays that are bound; they must be bound again.
  void release() { bound.clear(); }
  void run(const std::string &function, actrt_part part) {
    call([&] { return actrt_step_run_part(handle, function.c_str(), part); });
  }
  nb::dict statistics(const std::string &function) const {
    auto s = device->asked<actrt_step_statistics>([&](auto *out) {
      return actrt_step_measure(handle, function.c_str(), out);
    });
    nb::dict out;
    out["parameter_bytes"] = s.parameter_bytes;
    out["gradient_bytes"] = s.gradient_bytes;
    out["optimizer_bytes"] = s.optimizer_bytes;
    out["arena_bytes"] = s.arena_bytes;
    out["arena_high_water"] = s.arena_high_water;
    out["host_arena_bytes"] = s.host_arena_bytes;
    out["host_arena_high_water"] = s.host_arena_high_water;
    out["scratch_bytes_per_thread"] = s.scratch_bytes_per_thread;
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
      auto info = device->asked<actrt_launch_info>([&](auto *out) {
        return actrt_step_launch_query(handle, function.c_str(), i, out);
      });
      out.emplace_back(info.name, info.kernel, info.milliseconds);
    }
    return out;
  }
  nb::dict about() const {
    auto info = device->asked<actrt_step_info>(
        [&](auto *out) { return actrt_step_query(handle, out); });
    nb::dict out;
    out["model"] = info.model;
    out["target"] = info.target;
    out["optimizer"] = info.optimizer;
    out["report"] = info.report;
    out["micro_batches"] = info.micro_batches;
    return out;
  }

private:
  /// A parameter of 4 bits is bound to its bytes, for which arrays have no
  /// type.
  actrt_type typeOfBound(actrt_entity kind, const std::string &name,
                         const ConstArray &array) const {
    if (kind == ACTRT_PARAMETER && array.dtype() == nb::dtype<uint8_t>())
      for (size_t i = 0, n = count(kind); i < n; ++i) {
        auto info = device->asked<actrt_entity_info>([&](auto *out) {
          return actrt_step_describe(handle, kind, nullptr, i, out);
        });
        if (info.name == name &&
            (info.type.dtype == ACTRT_DTYPE_NF4 ||
             info.type.dtype == ACTRT_DTYPE_NF4_NESTED) &&
            info.bytes == array.nbytes())
          return info.type;
      }
    return typeOf(array);
  }
  size_t count(actrt_entity kind) const {
    size_t n = 0;
    check(actrt_step_count(handle, kind, nullptr, &n));
    return n;
  }
  struct Held {
    nb::object array;
    std::unique_ptr<Buffer> buffer;
  };
  void check(actrt_status status) const { device->check(status); }
  template <typename Call> void call(Call body) const { device->call(body); }

  DeviceRef device;
  actrt_step handle = nullptr;
  std::map<std::tuple<std::string, int, std::string>, Held> bound;
};

} // namespace

void act::python::bindStep(nb::module_ &module) {
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
      .def_ro("tied", &Entity::tied)
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
      .def("entities", &Step::entities, nb::arg("kind"),
           nb::arg("function") = nb::none())
      .def("initialise", &Step::initialise, nb::arg("seed"))
      .def("initialise_parameter", &Step::initialiseParameter, nb::arg("name"),
           nb::arg("seed"))
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
