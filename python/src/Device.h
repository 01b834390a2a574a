// SPDX-License-Identifier: Apache-2.0
//
// Devices, their memory and their streams, as the other parts of the module use
// them.
#ifndef ACT_PYTHON_DEVICE_H
#define ACT_PYTHON_DEVICE_H
#include "act-c/DLPack.h"
#include "act-c/Runtime.h"
#include "python/src/Errors.h"
#include <memory>
#include <nanobind/ndarray.h>
#include <string>
#include <vector>

namespace act::python {

using Array = nanobind::ndarray<nanobind::c_contig>;
using ConstArray = nanobind::ndarray<nanobind::ro, nanobind::c_contig>;
/// The array as it is in memory. Throws if it has gaps or may not be written:
/// what is written to a copy would be lost.
Array writable(nanobind::handle array);
/// The array, which may be read only. Throws if it has gaps.
ConstArray readable(nanobind::handle array);

/// Calls the runtime while other Python threads run: it may wait for them.
template <typename Call> auto withoutGil(Call body) {
  nanobind::gil_scoped_release release;
  return body();
}

/// f32, bf16, ...: what the compiler calls an element type.
const char *nameOf(actrt_dtype type);
/// Throws if there is none of this name, or no memory can have it (nf4).
actrt_dtype dtypeOf(const std::string &name);
/// Dtype and shape of an array. Throws for elements that act has no type for.
actrt_type typeOf(const ConstArray &array);

/// A device's handle. Its failures are exceptions.
class Device {
public:
  Device(const std::string &name, const actrt_device_options &options);
  Device(const Device &) = delete;
  ~Device() {
    withoutGil([&] { return actrt_device_release(handle); });
  }

  /// Throws for a failed call, with the findings that the device has by then.
  void check(actrt_status status) const;
  /// Calls the runtime while other Python threads run.
  template <typename Call> void call(Call body) const {
    check(withoutGil(body));
  }
  /// What a query writes to a struct that says its own size.
  template <typename Info, typename Query> Info asked(Query query) const {
    Info out{};
    out.struct_size = sizeof out;
    call([&] { return query(&out); });
    return out;
  }

  actrt_device handle = nullptr;
  actrt_device_info info{};
};
using DeviceRef = std::shared_ptr<Device>;

/// What one of the runtime's calls made. It is released with this object.
template <typename T, actrt_status (*release)(T)> class Handle {
public:
  Handle() = default;
  Handle(const Handle &) = delete;
  Handle &operator=(const Handle &) = delete;
  ~Handle() {
    if (value)
      withoutGil([&] { return release(value); });
  }
  T *operator&() { return &value; }
  operator T() const { return value; }

private:
  T value = nullptr;
};

/// Memory of a device with an element type and a shape.
class Buffer {
public:
  /// Memory that this object frees, or that `owner` has.
  Buffer(DeviceRef device, void *address, const actrt_type &type,
         std::shared_ptr<void> owner = nullptr);
  Buffer(const Buffer &) = delete;
  ~Buffer();

  static std::unique_ptr<Buffer> zeros(DeviceRef device,
                                       const std::vector<int64_t> &shape,
                                       const std::string &dtype);
  /// A copy of the array, or the array's own memory if the device can use it
  /// and it may be written.
  static std::unique_ptr<Buffer> from(DeviceRef device, nanobind::handle array);

  uint64_t bytes() const;
  /// The memory as DLPack describes it. The runtime then counts on writes that
  /// it does not see.
  const DLTensor &lend();
  /// Throws unless the array has this buffer's type.
  void checkType(const ConstArray &array) const;

  DeviceRef device;
  void *address;
  actrt_type type;

private:
  std::shared_ptr<void> owner;
  DLManagedTensor *lent = nullptr;
};

class Stream {
public:
  explicit Stream(DeviceRef device);

  DeviceRef device;
  Handle<actrt_stream, actrt_stream_release> handle;
};

} // namespace act::python
#endif
