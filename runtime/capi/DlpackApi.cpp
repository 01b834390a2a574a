// SPDX-License-Identifier: Apache-2.0
//
// DLPack: tensors of other libraries in, allocations of ours out.
#include "act-c/DLPack.h"
#include "act/Artifact/Types.h"
#include "runtime/capi/HandleTable.h"

using namespace act;
using namespace act::runtime;

namespace {

/// An exported tensor. The consumer holds a pointer to the first member.
struct Exported {
  DLManagedTensor tensor;
  std::shared_ptr<Executor> device;
  int64_t shape[ACTRT_MAX_RANK];
};

struct Word {
  actrt_dtype type;
  uint8_t code, bits;
};

} // namespace

// 10 is kDLFloat8_e4m3fn of DLPack 1.1.
static constexpr Word words[] = {
    {ACTRT_DTYPE_F64, kDLFloat, 64}, {ACTRT_DTYPE_F32, kDLFloat, 32},
    {ACTRT_DTYPE_F16, kDLFloat, 16}, {ACTRT_DTYPE_BF16, kDLBfloat, 16},
    {ACTRT_DTYPE_F8E4M3FN, 10, 8},   {ACTRT_DTYPE_I1, 6, 8},
    {ACTRT_DTYPE_I32, kDLInt, 32},   {ACTRT_DTYPE_I64, kDLInt, 64},
};

/// Runs when the consumer is done with the memory, on any thread and maybe
/// after the device's handle was released; the export keeps the device alive.
static void deleteExported(DLManagedTensor *self) {
  auto *e = reinterpret_cast<Exported *>(self->manager_ctx);
  e->device->takeBack(e->tensor.dl_tensor.data);
  (void)e->device->free(e->tensor.dl_tensor.data);
  delete e;
}

static bool isCpu(const DLTensor &t) {
  return t.device.device_type == kDLCPU || t.device.device_type == kDLCUDAHost;
}

// Fills in the type; returns the bytes of all elements.
static Result<uint64_t> typeOf(const DLTensor &t, actrt_type &type) {
  if (t.ndim < 0 || t.ndim > ACTRT_MAX_RANK || (t.ndim > 0 && !t.shape))
    return Error{"the tensor has rank " + std::to_string(t.ndim) +
                     ", expected 0 to 16 with a shape",
                 ""};
  const Word *word = nullptr;
  for (const Word &w : words)
    if (w.code == t.dtype.code && w.bits == t.dtype.bits && t.dtype.lanes == 1)
      word = &w;
  if (!word)
    return Error{"the tensor's elements have code " +
                     std::to_string(t.dtype.code) + ", " +
                     std::to_string(t.dtype.bits) + " bits, " +
                     std::to_string(t.dtype.lanes) +
                     " lanes, which is not a supported type",
                 ""};
  type = {};
  type.dtype = word->type;
  type.rank = static_cast<uint32_t>(t.ndim);
  uint64_t bytes = word->bits / 8;
  for (int i = 0; i < t.ndim; ++i) {
    type.shape[i] = t.shape[i];
    if (t.shape[i] < 0 ||
        __builtin_mul_overflow(bytes, static_cast<uint64_t>(t.shape[i]),
                               &bytes) ||
        bytes > uint64_t{1} << 47)
      return Error{"the tensor's shape is negative or too large", ""};
  }
  return bytes;
}

/// Row-major and without gaps. A dimension of size 1 may have any stride, since
/// it is never stepped over.
static bool isCompact(const DLTensor &t) {
  int64_t expected = 1;
  for (int i = t.ndim - 1; t.strides && i >= 0; --i) {
    if (t.shape[i] != 1 && t.strides[i] != expected)
      return false;
    expected *= t.shape[i];
  }
  return true;
}

// Copies a tensor in CPU memory to row-major order without gaps.
static std::vector<uint8_t> compacted(const DLTensor &t, uint64_t bytes) {
  std::vector<uint8_t> out(bytes);
  uint64_t element = t.dtype.bits / 8;
  auto *from = static_cast<const uint8_t *>(t.data) + t.byte_offset;
  int64_t index[ACTRT_MAX_RANK] = {};
  for (uint64_t at = 0; at < bytes; at += element) {
    int64_t offset = 0;
    for (int d = 0; d < t.ndim; ++d)
      offset += index[d] * t.strides[d];
    std::memcpy(out.data() + at, from + offset * int64_t(element), element);
    for (int d = t.ndim - 1; d >= 0 && ++index[d] == t.shape[d]; --d)
      index[d] = 0;
  }
  return out;
}

/// A tensor in memory of the host, on a device that cannot access that.
static Result<void *> copied(Executor &device, const void *from,
                             uint64_t bytes) {
  auto to = device.allocate(bytes);
  if (!to || bytes == 0)
    return to;
  auto stream = device.createStream();
  Status s = stream ? (*stream)->copy(*to, from, bytes, Direction::HostToDevice)
                    : stream.error();
  if (s)
    s = (*stream)->synchronize();
  if (s)
    return to;
  (void)device.free(*to);
  return s.error();
}

// Sets `kept` if it adopted the memory and thereby took over the tensor.
static Result<void *> import(Executor &device, DLManagedTensor *tensor,
                             uint64_t bytes, bool &kept) {
  const DLTensor &t = tensor->dl_tensor;
  if (bytes != 0 && !t.data)
    return Error{"the tensor has no memory", ""};
  auto *data = static_cast<uint8_t *>(t.data) + t.byte_offset;
  DeviceInfo info = device.info();
  // Whether the device can use the tensor's memory as it is.
  bool own = info.hostAddressable && isCpu(t);
  if (info.kind == "cuda")
    own = t.device.device_type == kDLCUDAManaged ||
          (t.device.device_type == kDLCUDA &&
           t.device.device_id == int32_t(info.ordinal));
  if (!own && !isCpu(t) && bytes != 0)
    return Error{"the tensor is on a device of DLPack type " +
                     std::to_string(t.device.device_type) + ", number " +
                     std::to_string(t.device.device_id) + ", which device " +
                     info.name + " cannot read",
                 ""};
  bool compact = isCompact(t);
  if (!compact && !isCpu(t))
    return Error{"the tensor is not row-major or has gaps", ""};
  if (bytes == 0 || (!own && compact))
    return copied(device, data, bytes);
  if (!compact)
    return copied(device, compacted(t, bytes).data(), bytes);
  auto s = device.adopt(data, bytes, [tensor] {
    if (tensor->deleter)
      tensor->deleter(tensor);
  });
  if (!s)
    return s.error();
  kept = true;
  return static_cast<void *>(data);
}

actrt_status actrt_from_dlpack(actrt_device device, DLManagedTensor *tensor,
                               void **address, actrt_type *type) {
  return guarded([&]() -> actrt_status {
    if (!tensor)
      return invalid("the tensor is null");
    // The tensor is ours to delete on every path, unless it is kept.
    struct Guard {
      DLManagedTensor *tensor;
      bool kept = false;
      ~Guard() {
        if (!kept && tensor->deleter)
          tensor->deleter(tensor);
      }
    } guard{tensor};
    auto d = findDevice(device);
    if (!d)
      return ACTRT_INVALID_HANDLE;
    if (!address || !type)
      return invalid("the pointer for the address or the type is null");
    actrt_type t;
    auto bytes = typeOf(tensor->dl_tensor, t);
    if (!bytes)
      return invalid(bytes.error().message);
    // One of our own exports returns: nothing to copy or adopt.
    auto *exported = tensor->deleter == deleteExported
                         ? static_cast<Exported *>(tensor->manager_ctx)
                         : nullptr;
    if (exported && exported->device == d &&
        d->isAllocation(tensor->dl_tensor.data)) {
      *address = tensor->dl_tensor.data;
      *type = t;
      guard.kept = true;
      d->takeBack(*address);
      delete exported;
      return ACTRT_SUCCESS;
    }
    auto p = import(*d, tensor, *bytes, guard.kept);
    if (!p)
      return fail(ACTRT_FAILED, p.error().str());
    *address = *p;
    *type = t;
    return ACTRT_SUCCESS;
  });
}

actrt_status actrt_to_dlpack(actrt_device device, void *address,
                             const actrt_type *type, DLManagedTensor **tensor) {
  return guarded([&]() -> actrt_status {
    auto d = findDevice(device);
    if (!d)
      return ACTRT_INVALID_HANDLE;
    if (!type || !tensor)
      return invalid("the type or the pointer for the tensor is null");
    const Word *word = nullptr;
    for (const Word &w : words)
      if (w.type == type->dtype)
        word = &w;
    if (!word || type->rank > ACTRT_MAX_RANK)
      return invalid("the type cannot be represented in DLPack");
    auto e = std::make_unique<Exported>();
    DLTensor &t = e->tensor.dl_tensor;
    t = {};
    t.ndim = static_cast<int32_t>(type->rank);
    t.dtype = {word->code, word->bits, 1};
    std::copy(type->shape, type->shape + type->rank, e->shape);
    t.shape = e->shape;
    t.data = address;
    actrt_type checked;
    auto bytes = typeOf(t, checked);
    if (!bytes)
      return invalid(bytes.error().message);
    if (!d->isAllocation(address))
      return invalid("the address is not an allocation of the device");
    if (auto s = d->checkRange(address, *bytes); !s)
      return invalid(s.error().message);
    DeviceInfo info = d->info();
    t.device = {info.kind == "cuda" ? kDLCUDA : kDLCPU,
                static_cast<int32_t>(info.kind == "cuda" ? info.ordinal : 0)};
    if (!d->lend(address))
      return invalid("the allocation belongs to a DLPack tensor already");
    // The consumer may write there, which no check of the device sees.
    d->writtenByOthers(address, *bytes);
    e->device = d;
    e->tensor.manager_ctx = e.get();
    e->tensor.deleter = deleteExported;
    *tensor = &e.release()->tensor;
    return ACTRT_SUCCESS;
  });
}
