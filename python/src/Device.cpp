// SPDX-License-Identifier: Apache-2.0
#include "python/src/Device.h"
#include <algorithm>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace act::python;

namespace {

struct ElementType {
  const char *name;
  int bytes; // 0: no array has such elements
  uint8_t code;
};
/// By actrt_dtype, with DLPack's codes. 10 is kDLFloat8_e4m3fn.
const ElementType elementTypes[] = {
    {"f64", 8, kDLFloat}, {"f32", 4, kDLFloat}, {"bf16", 2, kDLBfloat},
    {"f16", 2, kDLFloat}, {"f8E4M3FN", 1, 10},  {"i1", 1, kDLBool},
    {"i32", 4, kDLInt},   {"i64", 8, kDLInt},   {"nf4", 0, 0},
    {"nf4_nested", 0, 0}, {"u8", 1, kDLUInt},
};

const char *const notAnArray =
    "expected an array without gaps: of NumPy, torch, or with __dlpack__";

/// In memory that a copy from or to a device may name.
void checkOnHost(int deviceType) {
  if (deviceType != nb::device::cpu::value &&
      deviceType != nb::device::cuda_host::value)
    throw DeviceError{"the array is not in memory of the host", {}};
}

void copyToDevice(const Buffer &to, const Stream &stream,
                  const ConstArray &from) {
  to.checkType(from);
  checkOnHost(from.device_type());
  const void *memory = from.data();
  to.device->call([&] {
    return actrt_copy(stream.handle, to.address, memory, to.bytes(),
                      ACTRT_HOST_TO_DEVICE);
  });
}

/// The array as a tensor that keeps it alive.
DLManagedTensor *managed(const ConstArray &array) {
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
  return &owner.release()->tensor;
}

/// The buffer's memory as an array, without a copy, which keeps the buffer.
nb::object asArray(nb::handle self) {
  auto &buffer = nb::cast<Buffer &>(self);
  const DLTensor &t = buffer.lend();
  size_t shape[ACTRT_MAX_RANK];
  std::copy_n(t.shape, t.ndim, shape);
  return nb::cast(nb::ndarray<nb::array_api>(
      t.data, size_t(t.ndim), shape, self, nullptr,
      {t.dtype.code, t.dtype.bits, t.dtype.lanes}, int(t.device.device_type),
      t.device.device_id));
}

class Event {
public:
  explicit Event(DeviceRef device) : device(std::move(device)) {
    this->device->call(
        [&] { return actrt_event_create(this->device->handle, &handle); });
  }

  DeviceRef device;
  Handle<actrt_event, actrt_event_release> handle;
};

DeviceRef open(const std::string &name, uint32_t threads, bool checks,
               uint64_t seed, uint64_t maxInstructions, bool strict,
               bool ordersOnly, bool benignFails) {
  actrt_device_options o{};
  o.struct_size = sizeof o;
  o.threads = threads;
  o.without_checks = !checks;
  o.seed = seed;
  o.max_instructions = maxInstructions;
  o.strict = strict;
  o.orders_only = ordersOnly;
  o.benign_fails = benignFails;
  return std::make_shared<Device>(name, o);
}

/// What the device is, and what its memory has, by the names of Runtime.h.
nb::dict about(const Device &device) {
  auto info = device.asked<actrt_device_info>(
      [&](auto *out) { return actrt_device_query(device.handle, out); });
  auto memory = device.asked<actrt_memory_info>(
      [&](auto *out) { return actrt_memory_query(device.handle, out); });
  nb::dict out;
  out["threads"] = info.threads;
  out["host_addressable"] = bool(info.host_addressable);
  out["multiprocessors"] = info.multiprocessors;
  out["shared_bytes_per_block"] = info.shared_bytes_per_block;
  out["memory_bytes"] = info.memory_bytes;
  out["free_bytes"] = info.free_bytes == UINT64_MAX
                          ? nb::none()
                          : nb::object(nb::int_(info.free_bytes));
  out["free_limit"] = info.free_limit;
  out["current_bytes"] = memory.current_bytes;
  out["peak_bytes"] = memory.peak_bytes;
  out["allocations"] = memory.allocations;
  return out;
}

/// Runs a Python function when the stream gets there, on the thread that does.
void callBack(const Stream &stream, nb::callable function) {
  auto held = std::make_unique<nb::callable>(std::move(function));
  auto run = [](void *user) {
    nb::gil_scoped_acquire acquire;
    std::unique_ptr<nb::callable> function(static_cast<nb::callable *>(user));
    try {
      (*function)();
    } catch (nb::python_error &error) {
      error.discard_as_unraisable("a callback of an act.Stream");
    }
  };
  void *user = held.get();
  stream.device->call([&] {
    actrt_status status = actrt_stream_callback(stream.handle, run, user);
    if (!status)
      (void)held.release();
    return status;
  });
}

} // namespace

Array act::python::writable(nb::handle array) {
  Array out;
  if (!nb::try_cast(array, out, /*convert=*/false))
    throw DeviceError{std::string(notAnArray) + ", that may be written", {}};
  return out;
}

ConstArray act::python::readable(nb::handle array) {
  ConstArray out;
  if (!nb::try_cast(array, out, /*convert=*/false))
    throw DeviceError{notAnArray, {}};
  return out;
}

const char *act::python::nameOf(actrt_dtype type) {
  return elementTypes[type].name;
}

actrt_dtype act::python::dtypeOf(const std::string &name) {
  for (const ElementType &t : elementTypes)
    if (t.bytes && name == t.name)
      return actrt_dtype(&t - elementTypes);
  throw DeviceError{"memory has no elements of type " + name +
                        "; expected f64, f32, bf16, f16, f8E4M3FN, i1, i32 or "
                        "i64",
                    {}};
}

actrt_type act::python::typeOf(const ConstArray &array) {
  nb::dlpack::dtype given = array.dtype();
  const ElementType *found = nullptr;
  for (const ElementType &t : elementTypes)
    if (t.bytes && given.code == t.code && given.bits == t.bytes * 8 &&
        given.lanes == 1)
      found = &t;
  if (!found)
    throw DeviceError{"act has no element type of DLPack code " +
                          std::to_string(given.code) + " and " +
                          std::to_string(given.bits) + " bits",
                      {}};
  if (array.ndim() > ACTRT_MAX_RANK)
    throw DeviceError{"an array has more than 16 dimensions", {}};
  actrt_type t{};
  t.dtype = actrt_dtype(found - elementTypes);
  t.rank = uint32_t(array.ndim());
  for (size_t i = 0; i < array.ndim(); ++i)
    t.shape[i] = int64_t(array.shape(i));
  return t;
}

Device::Device(const std::string &name, const actrt_device_options &options) {
  if (withoutGil(
          [&] { return actrt_device_open(name.c_str(), &options, &handle); }))
    throw DeviceError{actrt_last_error(), {}};
  info = asked<actrt_device_info>(
      [&](auto *out) { return actrt_device_query(handle, out); });
}

void Device::check(actrt_status status) const {
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

Buffer::Buffer(DeviceRef device, void *address, const actrt_type &type,
               std::shared_ptr<void> owner)
    : device(std::move(device)), address(address), type(type),
      owner(std::move(owner)) {}

Buffer::~Buffer() {
  withoutGil([&] {
    if (lent)
      lent->deleter(lent);
    else if (!owner)
      actrt_free(device->handle, address);
  });
}

const DLTensor &Buffer::lend() {
  if (owner)
    throw DeviceError{"a variable of a kernel's code is no array of its own; "
                      "copy it with read()",
                      {}};
  if (!lent)
    device->call(
        [&] { return actrt_to_dlpack(device->handle, address, &type, &lent); });
  return lent->dl_tensor;
}

std::unique_ptr<Buffer> Buffer::zeros(DeviceRef device,
                                      const std::vector<int64_t> &shape,
                                      const std::string &dtype) {
  actrt_type type{};
  type.dtype = dtypeOf(dtype);
  if (shape.size() > ACTRT_MAX_RANK)
    throw DeviceError{"an array has more than 16 dimensions", {}};
  type.rank = uint32_t(shape.size());
  uint64_t bytes = uint64_t(elementTypes[type.dtype].bytes);
  for (size_t i = 0; i < shape.size(); ++i) {
    type.shape[i] = shape[i];
    if (shape[i] < 0 ||
        __builtin_mul_overflow(bytes, uint64_t(shape[i]), &bytes) ||
        bytes > uint64_t(1) << 47)
      throw DeviceError{"an array's shape is negative or too large", {}};
  }
  void *address = nullptr;
  device->call([&] { return actrt_allocate(device->handle, bytes, &address); });
  return std::make_unique<Buffer>(std::move(device), address, type);
}

std::unique_ptr<Buffer> Buffer::from(DeviceRef device, nb::handle given) {
  Array own;
  if (!nb::try_cast(given, own, /*convert=*/false)) {
    // The runtime writes to what it takes over, so others are copied.
    ConstArray array;
    if (!nb::try_cast(given, array))
      throw DeviceError{notAnArray, {}};
    actrt_type type = typeOf(array);
    auto copy =
        zeros(device, std::vector<int64_t>(type.shape, type.shape + type.rank),
              nameOf(type.dtype));
    Stream stream(device);
    copyToDevice(*copy, stream, array);
    device->call([&] { return actrt_stream_synchronize(stream.handle); });
    return copy;
  }
  DLManagedTensor *tensor = managed(ConstArray(own));
  actrt_type type{};
  void *address = nullptr;
  device->call([&] {
    return actrt_from_dlpack(device->handle, tensor, &address, &type);
  });
  return std::make_unique<Buffer>(std::move(device), address, type);
}

uint64_t Buffer::bytes() const {
  uint64_t n = uint64_t(elementTypes[type.dtype].bytes);
  for (uint32_t i = 0; i < type.rank; ++i)
    n *= uint64_t(type.shape[i]);
  return n;
}

void Buffer::checkType(const ConstArray &array) const {
  actrt_type given = typeOf(array);
  if (given.dtype != type.dtype || given.rank != type.rank ||
      !std::equal(type.shape, type.shape + type.rank, given.shape))
    throw DeviceError{"the array has another type than the buffer", {}};
}

Stream::Stream(DeviceRef device) : device(std::move(device)) {
  this->device->call(
      [&] { return actrt_stream_create(this->device->handle, &handle); });
}

void act::python::bindDevice(nb::module_ &module) {
  nb::class_<Device>(module, "Device")
      .def_prop_ro("name", [](const Device &d) { return d.info.name; })
      .def_prop_ro("kind", [](const Device &d) { return d.info.kind; })
      .def_prop_ro("target", [](const Device &d) { return d.info.target; })
      .def("about", &about)
      .def("reset_peak", [](const Device &d) {
        d.call([&] { return actrt_memory_reset_peak(d.handle); });
      });
  module.def("open_device", &open, nb::arg("name"), nb::arg("threads"),
             nb::arg("checks"), nb::arg("seed"), nb::arg("max_instructions"),
             nb::arg("strict"), nb::arg("orders_only"),
             nb::arg("benign_fails"));

  nb::class_<Stream>(module, "Stream")
      .def(nb::init<DeviceRef>(), nb::arg("device"))
      .def("synchronize",
           [](const Stream &s) {
             s.device->call([&] { return actrt_stream_synchronize(s.handle); });
           })
      .def("call_back", &callBack, nb::arg("function"))
      .def(
          "wait",
          [](const Stream &s, const Event &e) {
            s.device->call(
                [&] { return actrt_stream_wait(s.handle, e.handle); });
          },
          nb::arg("event"));
  nb::class_<Event>(module, "Event")
      .def(nb::init<DeviceRef>(), nb::arg("device"))
      .def(
          "record",
          [](const Event &e, const Stream &s) {
            e.device->call(
                [&] { return actrt_event_record(e.handle, s.handle); });
          },
          nb::arg("stream"))
      .def("synchronize",
           [](const Event &e) {
             e.device->call([&] { return actrt_event_synchronize(e.handle); });
           })
      .def(
          "elapsed",
          [](const Event &start, const Event &end) {
            double milliseconds = 0;
            start.device->call([&] {
              return actrt_event_elapsed(start.handle, end.handle,
                                         &milliseconds);
            });
            return milliseconds;
          },
          nb::arg("end"));

  nb::class_<Buffer>(module, "Buffer")
      .def_static("zeros", &Buffer::zeros, nb::arg("device"), nb::arg("shape"),
                  nb::arg("dtype"))
      .def_static("from_array", &Buffer::from, nb::arg("device"),
                  nb::arg("array"))
      // The stream's owner keeps arrays and buffers until their copies are
      // done.
      .def(
          "read",
          [](const Buffer &b, const Stream &s, nb::handle array) {
            Array to = writable(array);
            b.checkType(ConstArray(to));
            checkOnHost(to.device_type());
            void *memory = to.data();
            b.device->call([&] {
              return actrt_copy(s.handle, memory, b.address, b.bytes(),
                                ACTRT_DEVICE_TO_HOST);
            });
          },
          nb::arg("stream"), nb::arg("array"))
      .def(
          "write",
          // Returns what the copy reads, for the caller to keep until it is
          // done: the array, or a copy of it without gaps.
          [](const Buffer &b, const Stream &s, nb::handle array) {
            ConstArray from;
            if (!nb::try_cast(array, from))
              throw DeviceError{notAnArray, {}};
            copyToDevice(b, s, from);
            return from;
          },
          nb::arg("stream"), nb::arg("array"))
      .def(
          "copy",
          [](const Buffer &b, const Stream &s, const Buffer &from) {
            if (from.bytes() != b.bytes())
              throw DeviceError{"a buffer of " + std::to_string(b.bytes()) +
                                    " bytes cannot take " +
                                    std::to_string(from.bytes()),
                                {}};
            b.device->call([&] {
              return actrt_copy(s.handle, b.address, from.address, b.bytes(),
                                ACTRT_DEVICE_TO_DEVICE);
            });
          },
          nb::arg("stream"), nb::arg("buffer"))
      .def(
          "fill",
          [](const Buffer &b, const Stream &s, uint8_t value) {
            b.device->call([&] {
              return actrt_fill(s.handle, b.address, value, b.bytes());
            });
          },
          nb::arg("stream"), nb::arg("value"))
      .def("array", [](nb::handle self) { return asArray(self); })
      .def_prop_ro("address",
                   [](const Buffer &b) { return uintptr_t(b.address); })
      .def_prop_ro("bytes", &Buffer::bytes)
      .def_prop_ro("dtype",
                   [](const Buffer &b) { return nameOf(b.type.dtype); })
      .def_prop_ro("shape", [](const Buffer &b) {
        return std::vector<int64_t>(b.type.shape, b.type.shape + b.type.rank);
      });
}
