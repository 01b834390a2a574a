// SPDX-License-Identifier: Apache-2.0
#include "python/src/Device.h"
#include <algorithm>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>
#include <variant>

namespace nb = nanobind;
using namespace act::python;

namespace {

/// Loaded code, which has kernels and variables.
struct Code {
  DeviceRef device;
  Handle<actrt_module, actrt_module_release> handle;
};
using CodeRef = std::shared_ptr<Code>;

struct Kernel {
  CodeRef code;
  Handle<actrt_function, actrt_function_release> handle;
};

struct TensorMap {
  actrt_tensor_map map;
};

CodeRef load(DeviceRef device, nb::bytes data, uint32_t flags) {
  auto code = std::make_shared<Code>();
  code->device = std::move(device);
  const void *bytes = data.c_str();
  size_t size = data.size();
  code->device->call([&] {
    return actrt_module_load(code->device->handle, bytes, size, flags,
                             &code->handle);
  });
  return code;
}

std::unique_ptr<Kernel> kernelOf(CodeRef code, const std::string &name) {
  auto kernel = std::make_unique<Kernel>();
  kernel->code = std::move(code);
  const Code &c = *kernel->code;
  c.device->call([&] {
    return actrt_function_get(c.handle, name.c_str(), &kernel->handle);
  });
  return kernel;
}

std::unique_ptr<Buffer> variableOf(CodeRef code, const std::string &name,
                                   const std::string &dtype) {
  actrt_type type{};
  type.dtype = dtypeOf(dtype);
  void *address = nullptr;
  uint64_t bytes = 0;
  code->device->call([&] {
    return actrt_module_global(code->handle, name.c_str(), &address, &bytes);
  });
  auto buffer =
      std::make_unique<Buffer>(code->device, address, type, /*owner=*/code);
  uint64_t width = buffer->bytes(); // of one element
  if (bytes % width)
    throw DeviceError{"variable " + name + " has " + std::to_string(bytes) +
                          " bytes, which are no elements of " + dtype,
                      {}};
  buffer->type.rank = 1;
  buffer->type.shape[0] = int64_t(bytes / width);
  return buffer;
}

nb::dict about(const Kernel &kernel) {
  auto info = kernel.code->device->asked<actrt_function_info>(
      [&](auto *out) { return actrt_function_query(kernel.handle, out); });
  auto three = [](const uint32_t (&given)[3]) {
    return nb::make_tuple(given[0], given[1], given[2]);
  };
  nb::dict out;
  out["registers"] = info.registers;
  out["shared_bytes"] = info.shared_bytes;
  out["local_bytes"] = info.local_bytes;
  out["max_threads_per_block"] = info.max_threads_per_block;
  out["required_block"] = three(info.required_block);
  out["required_cluster"] = three(info.required_cluster);
  return out;
}

/// Bytes are a parameter's value, as it lies in memory.
using Argument = std::variant<Buffer *, TensorMap *, nb::bytes>;

actrt_argument argumentOf(const Argument &given) {
  actrt_argument a{};
  if (auto *buffer = std::get_if<Buffer *>(&given)) {
    a.kind = ACTRT_POINTER;
    a.value.pointer = (*buffer)->address;
    return a;
  }
  a.kind = ACTRT_BYTES;
  if (auto *map = std::get_if<TensorMap *>(&given)) {
    a.value.pointer = (*map)->map.bytes;
    a.bytes = sizeof(*map)->map.bytes;
  } else {
    const auto &value = std::get<nb::bytes>(given);
    a.value.pointer = const_cast<char *>(value.c_str());
    a.bytes = uint32_t(value.size());
  }
  return a;
}

using Dimensions = std::vector<uint32_t>;

void launch(const Kernel &kernel, const Stream &stream, const Dimensions &grid,
            const Dimensions &block, const Dimensions &cluster, uint64_t shared,
            bool persistent, bool cooperative, uint32_t atOnce,
            const std::vector<Argument> &arguments) {
  actrt_launch_shape shape{};
  shape.struct_size = sizeof shape;
  auto put = [](const Dimensions &from, uint32_t (&to)[3], const char *what) {
    if (from.size() > 3)
      throw DeviceError{std::string("a ") + what + " has at most 3 dimensions",
                        {}};
    std::copy(from.begin(), from.end(), to);
  };
  put(grid, shape.grid, "grid");
  put(block, shape.block, "block");
  put(cluster, shape.cluster, "cluster");
  shape.shared_bytes = shared;
  shape.persistent = persistent;
  shape.cooperative = cooperative;
  shape.at_once = atOnce;
  std::vector<actrt_argument> list;
  for (const Argument &given : arguments)
    list.push_back(argumentOf(given));
  stream.device->call([&] {
    return actrt_launch(kernel.handle, stream.handle, &shape, list.data(),
                        list.size());
  });
}

/// Lists begin with the innermost dimension.
std::unique_ptr<TensorMap>
tensorMap(const Buffer &buffer, uint64_t offset, uint32_t dtype,
          const std::vector<uint64_t> &sizes,
          const std::vector<uint64_t> &strides, const Dimensions &box,
          const Dimensions &elementStrides, uint32_t interleave,
          uint32_t swizzle, uint32_t l2Promotion, uint32_t fill) {
  actrt_tiled_tensor t{};
  t.struct_size = sizeof t;
  t.dtype = dtype;
  t.rank = uint32_t(sizes.size());
  t.address = static_cast<char *>(buffer.address) + offset;
  auto put = [](const auto &from, auto &to) {
    if (from.size() > std::size(to))
      throw DeviceError{"a tensor map has at most 5 dimensions", {}};
    std::copy(from.begin(), from.end(), to);
  };
  put(sizes, t.dims);
  put(strides, t.strides);
  put(box, t.box);
  put(elementStrides, t.element_strides);
  t.interleave = interleave;
  t.swizzle = swizzle;
  t.l2_promotion = l2Promotion;
  t.oob_fill = fill;
  auto out = std::make_unique<TensorMap>();
  buffer.device->check(
      actrt_tensor_map_encode_tiled(buffer.device->handle, &t, &out->map));
  return out;
}

} // namespace

void act::python::bindKernel(nb::module_ &module) {
  nb::class_<Code>(module, "Code")
      .def_static("load", &load, nb::arg("device"), nb::arg("data"),
                  nb::arg("flags"))
      .def("kernel", &kernelOf, nb::arg("name"))
      .def("variable", &variableOf, nb::arg("name"), nb::arg("dtype"));
  nb::class_<TensorMap>(module, "TensorMap")
      .def_static("of", &tensorMap, nb::arg("buffer"), nb::arg("offset"),
                  nb::arg("dtype"), nb::arg("sizes"), nb::arg("strides"),
                  nb::arg("box"), nb::arg("element_strides"),
                  nb::arg("interleave"), nb::arg("swizzle"),
                  nb::arg("l2_promotion"), nb::arg("fill"))
      .def("bytes", [](const TensorMap &t) {
        return nb::bytes(t.map.bytes, sizeof t.map.bytes);
      });
  nb::class_<Kernel>(module, "Kernel")
      .def("about", &about)
      .def("launch", &launch, nb::arg("stream"), nb::arg("grid"),
           nb::arg("block"), nb::arg("cluster"), nb::arg("shared"),
           nb::arg("persistent"), nb::arg("cooperative"), nb::arg("at_once"),
           nb::arg("arguments"));
}
