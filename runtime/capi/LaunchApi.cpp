// SPDX-License-Identifier: Apache-2.0
//
// Launches and tensor maps of the C interface.
#include "act/Artifact/Format.h"
#include "runtime/LaunchRules.h"
#include "runtime/capi/OnStream.h"

using namespace act;
using namespace act::runtime;

// CUDA's limit for all parameters of a kernel together.
static constexpr uint32_t maximumValueBytes = 32764;

// Fills in the sizes that may be left out. Everything up to `cluster` is in the
// first version of the struct, so callers must give that much.
static Result<LaunchShape> checkShape(const actrt_launch_shape *shape) {
  if (!shape || shape->struct_size < offsetof(actrt_launch_shape, cluster))
    return Error{"the launch has no shape, or its struct_size is too small",
                 ""};
  actrt_launch_shape given = readStruct(shape);
  if (given.grid[0] == 0)
    return Error{"the launch's grid has no size", ""};
  LaunchShape out;
  uint64_t blocks = 1;
  bool clustered = given.cluster[0] || given.cluster[1] || given.cluster[2];
  for (int i = 0; i < 3; ++i) {
    out.grid[i] = given.grid[i] ? given.grid[i] : 1;
    out.block[i] = given.block[i] ? given.block[i] : 1;
    out.cluster[i] = clustered && !given.cluster[i] ? 1 : given.cluster[i];
    if (__builtin_mul_overflow(blocks, out.grid[i], &blocks) ||
        blocks > artifact::maxGrid)
      return Error{"the launch's grid has more than 2^40 blocks", ""};
    if (clustered && out.grid[i] % out.cluster[i] != 0)
      return Error{"the launch's grid has " + std::to_string(out.grid[i]) +
                       " blocks in dimension " + std::to_string(i) +
                       ", expected a multiple of the cluster's " +
                       std::to_string(out.cluster[i]),
                   ""};
  }
  out.sharedBytes = given.shared_bytes;
  out.cooperative = given.cooperative;
  out.persistent = given.persistent;
  out.atOnce = given.at_once;
  if (out.persistent && blocks != out.grid[0])
    return Error{"a persistent launch has blocks along x only", ""};
  out.scratchBytes = given.scratch_bytes;
  if (out.scratchBytes > artifact::maxScratchBytes)
    return Error{"the launch requests " + std::to_string(out.scratchBytes) +
                     " bytes of scratch per thread, at most 2^32 are allowed",
                 ""};
  return out;
}

namespace {
struct Packed {
  std::vector<void *> addresses;
  std::vector<uint32_t> bytes;
  // Host kernels may read a whole 8-byte slot, so scalars get one each.
  std::vector<uint64_t> slots;
};
} // namespace

static Status pack(Executor &device, const actrt_argument &a, size_t i,
                   Packed &to) {
  static const uint32_t sizes[] = {0, 4, 8, 4, 8};
  auto error = [i](const std::string &what) {
    return Error{"argument " + std::to_string(i) + what, ""};
  };
  if (a.kind == ACTRT_BYTES) {
    if (!a.value.pointer || a.bytes == 0 || a.bytes > maximumValueBytes)
      return error(" is a value of " + std::to_string(a.bytes) + " bytes at " +
                   (a.value.pointer ? "an address" : "null") +
                   ", expected 1 to " + std::to_string(maximumValueBytes));
    to.bytes[i] = a.bytes;
    to.addresses[i] = a.value.pointer;
    return ok();
  }
  if (a.kind < ACTRT_POINTER || a.kind > ACTRT_F64)
    return error(" has unknown kind " +
                 std::to_string(static_cast<int>(a.kind)));
  to.bytes[i] = sizes[a.kind];
  std::memcpy(&to.slots[i], &a.value, sizes[a.kind]);
  if (a.kind == ACTRT_I32) {
    int64_t wide = a.value.i32;
    std::memcpy(&to.slots[i], &wide, 8);
  }
  to.addresses[i] = a.kind == ACTRT_POINTER ? a.value.pointer : &to.slots[i];
  // A GPU kernel may take a null pointer; a host kernel gets memory or nothing.
  if (a.kind == ACTRT_POINTER && (a.value.pointer || !device.runsPtx()))
    if (auto r = device.checkRange(a.value.pointer, 0); !r)
      return error(": " + r.error().message);
  return ok();
}

actrt_status actrt_launch(actrt_function function, actrt_stream stream,
                          const actrt_launch_shape *shape,
                          const actrt_argument *arguments,
                          size_t argument_count) {
  return onStream(stream, [&](StreamObject &s) -> actrt_status {
    auto f = find<FunctionObject>(Kind::Function, function);
    if (!f)
      return ACTRT_INVALID_HANDLE;
    if (f->module->device != s.device)
      return invalid("the function and the stream are of different devices");
    if (argument_count > artifact::maxArguments ||
        (argument_count > 0 && !arguments))
      return invalid("a launch takes 0 to 1024 arguments, found " +
                     std::to_string(argument_count));
    auto launch = checkShape(shape);
    if (!launch)
      return invalid(launch.error().message);
    Packed packed{std::vector<void *>(argument_count),
                  std::vector<uint32_t>(argument_count),
                  std::vector<uint64_t>(argument_count)};
    for (size_t i = 0; i < argument_count; ++i)
      if (auto r = pack(*s.device, arguments[i], i, packed); !r)
        return invalid(r.error().message);
    if (auto r = s.device->reserveScratch(launch->scratchBytes); !r)
      return fail(ACTRT_FAILED, r.error().str());
    const DeviceInfo &info = s.device->info();
    uint64_t blocks =
        uint64_t{launch->cluster[0]} * launch->cluster[1] * launch->cluster[2];
    if (s.device->runsPtx() && blocks > 1 && info.sm < 90)
      return fail(ACTRT_UNSUPPORTED, "launch: a cluster of " +
                                         std::to_string(blocks) +
                                         " blocks, but " + info.target +
                                         " does not support clusters");
    auto done = s.stream->launch(*f->kernel, *launch,
                                 {packed.addresses.data(), packed.bytes.data(),
                                  static_cast<uint32_t>(argument_count)});
    if (!done && isRefusal(done.error()))
      return invalid(done.error().message);
    return finish(done);
  });
}

actrt_status actrt_tensor_map_encode_tiled(actrt_device device,
                                           const actrt_tiled_tensor *tensor,
                                           actrt_tensor_map *map) {
  return guarded([&]() -> actrt_status {
    auto d = findDevice(device);
    if (!d)
      return ACTRT_INVALID_HANDLE;
    if (!tensor || !map)
      return invalid("the tensor to encode or its map is null");
    if (!d->runsPtx())
      return fail(ACTRT_UNSUPPORTED,
                  "device " + d->info().name + " has no tensor maps");
    if (tensor->struct_size < sizeof *tensor)
      return invalid("the tensor's struct_size is too small");
    actrt_tiled_tensor given = readStruct(tensor);
    TiledTensor t;
    t.type = static_cast<TensorMapType>(given.dtype);
    t.rank = given.rank;
    t.address = reinterpret_cast<uint64_t>(given.address);
    std::copy(given.dims, given.dims + 5, t.sizes);
    std::copy(given.strides, given.strides + 4, t.strides);
    std::copy(given.box, given.box + 5, t.box);
    std::copy(given.element_strides, given.element_strides + 5,
              t.elementStrides);
    t.interleave = given.interleave;
    t.swizzle = given.swizzle;
    t.l2Promotion = given.l2_promotion;
    t.fill = given.oob_fill;
    // The same message on every device; the driver only says "invalid value".
    if (auto s = checkTiledTensor(t); !s)
      return invalid(s.error().message);
    auto encoded = d->encodeTensorMap(t);
    if (!encoded)
      return fail(ACTRT_FAILED, encoded.error().str());
    std::memcpy(map->bytes, encoded->bytes, sizeof map->bytes);
    return ACTRT_SUCCESS;
  });
}
