// SPDX-License-Identifier: Apache-2.0
//
// Puts arrays into the simulator's memory, makes tensor maps, and writes
// results back to files.
#include "tools/actrt-sim/Arguments.h"
#include <cstring>

using namespace act;
using namespace act::simtool;

// NaN in every float type, and large in every integer type.
static constexpr int poison = 0xff;

Status simtool::readArray(Argument &a) {
  if (a.kind == Argument::Out)
    return ok();
  auto array = npy::read(a.file);
  if (!array)
    return array.error();
  a.array = std::move(*array);
  return ok();
}

static Status placeArray(Argument &a, runtime::sim::Simulator &sim) {
  if (auto s = readArray(a); !s)
    return s;
  uint64_t bytes = a.array.bytes.size();
  auto p = sim.allocate(bytes, "'" + a.file + "'");
  if (!p)
    return p.error();
  a.address = *p;
  if (a.kind == Argument::Out) {
    std::memset(*p, poison, bytes);
  } else {
    std::memcpy(*p, a.array.bytes.data(), bytes);
    sim.markInitialised(*p, bytes);
  }
  auto value = reinterpret_cast<uint64_t>(*p);
  a.value.resize(8);
  std::memcpy(a.value.data(), &value, 8);
  return ok();
}

// The argument whose array the map covers: another one, or the map's own.
static Argument *arrayOf(std::vector<Argument> &arguments,
                         const std::string &file) {
  for (Argument &a : arguments)
    if (a.file == file && a.kind != Argument::Map)
      return &a;
  return nullptr;
}

// If another argument names the same file, the map covers that argument's
// memory. Otherwise the file is read for the map alone.
static Status placeMap(Argument &a, Argument *other,
                       runtime::sim::Simulator &sim) {
  if (!other) {
    a.kind = Argument::In;
    if (auto s = placeArray(a, sim); !s)
      return s;
    a.kind = Argument::Map;
    other = &a;
  }
  const npy::Array &array = other->array;
  runtime::TiledTensor &t = a.map;
  const std::vector<int64_t> shape =
      a.sizes.empty()
          ? std::vector<int64_t>(array.shape.begin(), array.shape.end())
          : std::vector<int64_t>(a.sizes.begin(), a.sizes.end());
  size_t rank = shape.size(), element = bytesOf(t.type);
  if (npy::elementBytes(array.dtype) != element)
    return Error{"the array's elements are " + array.dtype +
                     ", but the map's are " + a.dtype,
                 ""};
  if (rank < 1 || rank > 5 || a.box.size() != rank ||
      (!a.steps.empty() && a.steps.size() != rank))
    return Error{"the tensor has " + std::to_string(rank) +
                     " dimensions, but the box has " +
                     std::to_string(a.box.size()) +
                     ", expected the same number, from 1 to 5",
                 ""};
  if (!a.strides.empty() && a.strides.size() != rank - 1)
    return Error{"the tensor has " + std::to_string(rank) +
                     " dimensions and the map " +
                     std::to_string(a.strides.size()) +
                     " strides, expected one for each but the innermost",
                 ""};
  t.rank = static_cast<uint32_t>(rank);
  t.address = reinterpret_cast<uint64_t>(other->address);
  uint64_t stride = element;
  for (size_t i = 0; i < rank; ++i) {
    size_t outer = rank - 1 - i;
    t.sizes[i] = static_cast<uint64_t>(shape[outer]);
    t.box[i] = a.box[outer];
    t.elementStrides[i] = a.steps.empty() ? 1 : a.steps[outer];
    if (i > 0)
      t.strides[i - 1] = a.strides.empty() ? stride : a.strides[outer];
    stride *= t.sizes[i];
  }
  // Custom sizes and strides may put the last element outside the array.
  uint64_t end = element, step = 0;
  for (size_t i = 0; i < rank; ++i) {
    bool over = t.sizes[i] == 0 ||
                __builtin_mul_overflow(t.sizes[i] - 1,
                                       i ? t.strides[i - 1] : element, &step) ||
                __builtin_add_overflow(end, step, &end);
    if ((!a.strides.empty() || !a.sizes.empty()) &&
        (over || end > array.bytes.size()))
      return Error{"sizes and strides exceed the array of " +
                       std::to_string(array.bytes.size()) + " bytes",
                   ""};
  }
  auto map = encodeTensorMap(t);
  if (!map)
    return map.error();
  a.value.assign(map->bytes, map->bytes + sizeof map->bytes);
  return ok();
}

Status simtool::place(std::vector<Argument> &arguments,
                      runtime::sim::Simulator &sim) {
  auto failed = [](const Argument &a, const Error &e) {
    return Error{"--arg " + a.text + ": " + e.str(), ""};
  };
  for (Argument &a : arguments)
    if (a.isArray())
      if (auto s = placeArray(a, sim); !s)
        return failed(a, s.error());
  for (Argument &a : arguments)
    if (a.kind == Argument::Map)
      if (auto s = placeMap(a, arrayOf(arguments, a.file), sim); !s)
        return failed(a, s.error());
  return ok();
}

Status simtool::writeBack(const std::vector<Argument> &arguments) {
  for (const Argument &a : arguments)
    if (a.isWritten())
      if (auto s = npy::write(a.file, a.array.dtype, a.array.shape, a.address);
          !s)
        return s;
  return ok();
}
