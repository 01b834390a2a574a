// SPDX-License-Identifier: Apache-2.0
//
// The entry points that upstream MLIR's --gpu-to-llvm calls, with the
// signatures and meaning of its CUDA runtime wrappers (without the
// sparse-library family). MgpuDevice.h explains the choice of device and the
// handling of failures.
#include "runtime/capi/MgpuDevice.h"
#include <cstring>
#include <exception>

using namespace act;
using namespace act::runtime;
using namespace act::runtime::mgpu;

#define MGPU extern "C" __attribute__((visibility("default")))

// Runs the body, which returns a Status or a Result; reports an error.
template <typename Body> static auto run(const char *name, Body body) {
  using R = decltype(body());
  Call call;
  try {
    R result = body();
    if (!result)
      report(name, result.error());
    return result;
  } catch (const std::exception &e) {
    report(name, Error{e.what(), ""});
    return R(Error{e.what(), ""});
  }
}
template <typename Body> static void attempt(const char *name, Body body) {
  (void)run(name, body);
}
template <typename Body> static void *pointer(const char *name, Body body) {
  auto result = run(name, body);
  return result ? static_cast<void *>(*result) : nullptr;
}

// ---- Modules ---------------------------------------------------------------

MGPU void *mgpuModuleLoad(void *data, size_t bytes) {
  return pointer(__func__, [&]() -> Result<ModuleHandle *> {
    if (!data)
      return Error{"the module is null", ""};
    // Machine code contains zeros; text ends at the first zero, whatever
    // `bytes` says.
    auto *text = static_cast<const char *>(data);
    bool isElf = std::memcmp(text, "\x7f", 1) == 0;
    // A fat binary begins with 0xBA55ED50, whose lowest byte is 0x50.
    bool isFatbin = std::memcmp(text, "\x50", 1) == 0;
    return Devices::get().load(isElf || isFatbin ? std::string(text, bytes)
                                                 : std::string(text));
  });
}

MGPU void *mgpuModuleLoadJIT(void *data, int optLevel) {
  return pointer(__func__, [&]() -> Result<ModuleHandle *> {
    if (!data)
      return Error{"the module is null", ""};
    return Devices::get().load(static_cast<const char *>(data));
  });
}

MGPU void mgpuModuleUnload(void *module) {
  attempt(__func__, [&] { return Devices::get().unload(module); });
}

MGPU void *mgpuModuleGetFunction(void *module, const char *name) {
  return pointer(__func__, [&]() -> Result<FunctionHandle *> {
    if (!name)
      return Error{"the function's name is null", ""};
    return Devices::get().function(module, name);
  });
}

// A failure names the first finding. The program cannot query the others, so
// they are printed too, up to ten. A finding is a line followed by indented
// lines.
static Error withFindings(Executor &device, const Error &error) {
  Findings found = device.findings();
  device.clearFindings();
  size_t end = 0;
  uint64_t shown = 0;
  for (; shown < 10 && end < found.text.size(); ++shown)
    do
      end = found.text.find('\n', end) + 1;
    while (end < found.text.size() && found.text[end] == ' ');
  size_t first = 0;
  do
    first = found.text.find('\n', first) + 1;
  while (first && first < found.text.size() && found.text[first] == ' ');
  bool isFirst = first && error.message.compare(0, first - 1, found.text, 0,
                                                first - 1) == 0;
  if (shown < 2 && (isFirst || !shown))
    return error;
  std::string text =
      (isFirst ? "" : error.str() + "\n") + found.text.substr(0, end - 1);
  if (found.count > shown)
    text += "\n(and " + std::to_string(found.count - shown) + " more findings)";
  return Error{text, ""};
}

// `cluster` null: the kernel's own.
static Status launch(void *function, const intptr_t *cluster,
                     const intptr_t *grid, const intptr_t *block, int32_t smem,
                     void *stream, void **params, void **extra,
                     bool cooperative = false) {
  auto f = Devices::get().checkedFunction(function);
  if (!f)
    return f.error();
  Executor &device = *(*f)->module->device;
  auto s = Devices::get().stream(stream, device);
  if (!s)
    return s.error();
  if (extra)
    return Error{"the launch gives its arguments in `extra`, expected `params`",
                 ""};
  LaunchShape shape;
  for (int i = 0; i < 3; ++i) {
    if (grid[i] <= 0 || block[i] <= 0 || grid[i] > INT32_MAX ||
        block[i] > INT32_MAX || (cluster && cluster[i] <= 0) || smem < 0)
      return Error{"the launch's grid, block or cluster has a size of 0 or "
                   "below, or beyond 2^31",
                   ""};
    shape.grid[i] = static_cast<uint64_t>(grid[i]);
    shape.block[i] = static_cast<uint32_t>(block[i]);
    shape.cluster[i] = cluster ? static_cast<uint32_t>(cluster[i]) : 0;
  }
  shape.sharedBytes = static_cast<uint64_t>(smem);
  shape.cooperative = cooperative;
  Arguments arguments;
  arguments.addresses = params;
  arguments.asDeclared = true;
  auto status = (*s)->launch(*(*f)->kernel, shape, arguments);
  Devices::get().launched(device);
  return status ? status : withFindings(device, status.error());
}

MGPU void mgpuLaunchKernel(void *function, intptr_t gridX, intptr_t gridY,
                           intptr_t gridZ, intptr_t blockX, intptr_t blockY,
                           intptr_t blockZ, int32_t smem, void *stream,
                           void **params, void **extra, size_t) {
  const intptr_t grid[3] = {gridX, gridY, gridZ},
                 block[3] = {blockX, blockY, blockZ};
  attempt(__func__, [&] {
    return launch(function, nullptr, grid, block, smem, stream, params, extra);
  });
}

MGPU void mgpuLaunchClusterKernel(void *function, intptr_t clusterX,
                                  intptr_t clusterY, intptr_t clusterZ,
                                  intptr_t gridX, intptr_t gridY,
                                  intptr_t gridZ, intptr_t blockX,
                                  intptr_t blockY, intptr_t blockZ,
                                  int32_t smem, void *stream, void **params,
                                  void **extra, size_t) {
  const intptr_t cluster[3] = {clusterX, clusterY, clusterZ},
                 grid[3] = {gridX, gridY, gridZ},
                 block[3] = {blockX, blockY, blockZ};
  attempt(__func__, [&] {
    return launch(function, cluster, grid, block, smem, stream, params, extra);
  });
}

/// From after LLVM 22. The cluster is used only if all its sizes are above 0.
MGPU void mgpuLaunchKernelCooperative(void *function, intptr_t gridX,
                                      intptr_t gridY, intptr_t gridZ,
                                      intptr_t clusterX, intptr_t clusterY,
                                      intptr_t clusterZ, intptr_t blockX,
                                      intptr_t blockY, intptr_t blockZ,
                                      int32_t smem, void *stream, void **params,
                                      void **extra) {
  const intptr_t cluster[3] = {clusterX, clusterY, clusterZ},
                 grid[3] = {gridX, gridY, gridZ},
                 block[3] = {blockX, blockY, blockZ};
  bool hasCluster = clusterX > 0 && clusterY > 0 && clusterZ > 0;
  attempt(__func__, [&] {
    return launch(function, hasCluster ? cluster : nullptr, grid, block, smem,
                  stream, params, extra, true);
  });
}

// ---- Streams and events ----------------------------------------------------

// Runs `body` on the home device's stream of this handle.
template <typename Body>
static void onStream(const char *name, void *stream, Body body) {
  attempt(name, [&]() -> Status {
    auto device = Devices::get().home();
    if (!device)
      return device.error();
    auto s = Devices::get().stream(stream, **device);
    if (!s)
      return s.error();
    Status status = body(**s);
    return status ? status : withFindings(**device, status.error());
  });
}

MGPU void *mgpuStreamCreate() {
  return pointer(__func__, [] { return Devices::get().createStream(); });
}
MGPU void mgpuStreamDestroy(void *stream) {
  attempt(__func__, [&] { return Devices::get().destroyStream(stream); });
}
MGPU void mgpuStreamSynchronize(void *stream) {
  attempt(__func__, [&] {
    return Devices::get().onEach(stream, [](Executor &device, Stream &s) {
      auto status = s.synchronize();
      Devices::get().launched(device);
      return status ? status : withFindings(device, status.error());
    });
  });
}
MGPU void mgpuStreamWaitEvent(void *stream, void *event) {
  onStream(__func__, stream, [&](Stream &s) -> Status {
    auto e = Devices::get().event(event);
    return e ? s.wait(*(*e)->event) : e.error();
  });
}
MGPU void *mgpuEventCreate() {
  return pointer(__func__, [] { return Devices::get().createEvent(); });
}
MGPU void mgpuEventDestroy(void *event) {
  attempt(__func__, [&] { return Devices::get().destroyEvent(event); });
}
MGPU void mgpuEventSynchronize(void *event) {
  attempt(__func__, [&]() -> Status {
    auto e = Devices::get().event(event);
    if (!e)
      return e.error();
    auto status = (*e)->event->synchronize();
    return status ? status : withFindings(*(*e)->device, status.error());
  });
}
MGPU void mgpuEventRecord(void *event, void *stream) {
  onStream(__func__, stream, [&](Stream &s) -> Status {
    auto e = Devices::get().event(event);
    return e ? s.record(*(*e)->event) : e.error();
  });
}

// ---- Memory ----------------------------------------------------------------

MGPU void *mgpuMemAlloc(uint64_t bytes, void *, bool isHostShared) {
  if (bytes == 0)
    return nullptr;
  return pointer(__func__,
                 [&] { return Devices::get().allocate(bytes, isHostShared); });
}
MGPU void mgpuMemFree(void *address, void *) {
  if (address)
    attempt(__func__, [&] { return Devices::get().free(address); });
}

// A range that starts in the device's memory must end in the same allocation.
static Status checkInside(Executor &device, const void *p, uint64_t bytes) {
  return !device.checkRange(p, 1) ? ok() : device.checkRange(p, bytes);
}

MGPU void mgpuMemcpy(void *to, void *from, size_t bytes, void *stream) {
  if (bytes == 0)
    return;
  onStream(__func__, stream, [&](Stream &s) -> Status {
    auto device = Devices::get().home();
    if (!to || !from)
      return Error{"an address of the copy is null", ""};
    for (const void *p :
         {static_cast<const void *>(to), static_cast<const void *>(from)})
      if (auto r = checkInside(**device, p, bytes); !r)
        return r;
    return s.copy(to, from, bytes, Direction::Any);
  });
}

static void fill(const char *name, void *to, uint32_t value, unsigned width,
                 size_t count, void *stream) {
  if (count == 0)
    return;
  onStream(name, stream, [&](Stream &s) -> Status {
    auto device = Devices::get().home();
    if (!to)
      return Error{"the address to fill is null", ""};
    if (auto r = checkInside(**device, to, uint64_t{width} * count); !r)
      return r;
    return s.fillWords(to, value, width, count);
  });
}
MGPU void mgpuMemset32(void *to, unsigned value, size_t count, void *stream) {
  fill(__func__, to, value, 4, count, stream);
}
MGPU void mgpuMemset16(void *to, unsigned short value, size_t count,
                       void *stream) {
  fill(__func__, to, value, 2, count, stream);
}

MGPU void mgpuMemHostRegister(void *address, uint64_t bytes) {
  attempt(__func__,
          [&] { return Devices::get().registerHost(address, bytes); });
}
MGPU void mgpuMemHostUnregister(void *address) {
  attempt(__func__, [&] { return Devices::get().unregisterHost(address); });
}

namespace {
/// A ranked memref descriptor of MLIR: sizes, then strides, `rank` of each.
struct MemRef {
  char *allocated, *aligned;
  int64_t offset;
  int64_t sizesAndStrides[];
};
} // namespace

static char *firstElement(const MemRef &m, int64_t elementBytes) {
  return m.aligned + m.offset * elementBytes;
}

MGPU void mgpuMemHostRegisterMemRef(int64_t rank, void *descriptor,
                                    int64_t elementBytes) {
  attempt(__func__, [&]() -> Status {
    auto &m = *static_cast<const MemRef *>(descriptor);
    // Registers from the first element to the last; upstream assumes no gaps.
    int64_t last = 0;
    for (int64_t i = 0; i < rank; ++i) {
      if (m.sizesAndStrides[i] <= 0)
        return ok(); // nothing to register
      last += (m.sizesAndStrides[i] - 1) * m.sizesAndStrides[rank + i];
    }
    if (last < 0)
      return Error{"the memref has negative strides", ""};
    return Devices::get().registerHost(
        firstElement(m, elementBytes),
        static_cast<uint64_t>((last + 1) * elementBytes));
  });
}

MGPU void mgpuMemHostUnregisterMemRef(int64_t rank, void *descriptor,
                                      int64_t elementBytes) {
  attempt(__func__, [&]() -> Status {
    auto &m = *static_cast<const MemRef *>(descriptor);
    for (int64_t i = 0; i < rank; ++i)
      if (m.sizesAndStrides[i] <= 0)
        return ok();
    return Devices::get().unregisterHost(firstElement(m, elementBytes));
  });
}

MGPU void mgpuSetDefaultDevice(int32_t device) { Devices::ordinal = device; }

// ---- Tensor maps -----------------------------------------------------------

// On a card the driver encodes the map; all simulators share one layout.
static Result<TensorMap> encode(const TiledTensor &tensor) {
  auto device = Devices::get().home();
  if (!device)
    return device.error();
  return (*device)->info().kind == "cuda" ? (*device)->encodeTensorMap(tensor)
                                          : runtime::encodeTensorMap(tensor);
}

MGPU void mgpuTensorMapEncodeTiled(void *map, uint32_t dataType, uint32_t rank,
                                   void *address, const uint64_t *sizes,
                                   const uint64_t *strides, const uint32_t *box,
                                   const uint32_t *elementStrides,
                                   uint32_t interleave, uint32_t swizzle,
                                   uint32_t l2Promotion, uint32_t oobFill) {
  attempt(__func__, [&]() -> Status {
    if (rank < 1 || rank > 5 || !map)
      return Error{"the tensor has rank " + std::to_string(rank) +
                       ", expected 1 to 5",
                   ""};
    TiledTensor t;
    t.type = static_cast<TensorMapType>(dataType);
    t.rank = rank;
    t.address = reinterpret_cast<uint64_t>(address);
    std::copy(sizes, sizes + rank, t.sizes);
    std::copy(strides, strides + rank - 1, t.strides);
    std::copy(box, box + rank, t.box);
    std::copy(elementStrides, elementStrides + rank, t.elementStrides);
    t.interleave = interleave;
    t.swizzle = swizzle;
    t.l2Promotion = l2Promotion;
    t.fill = oobFill;
    auto encoded = encode(t);
    if (!encoded)
      return encoded.error();
    std::memcpy(map, encoded->bytes, sizeof encoded->bytes);
    return ok();
  });
}

/// Encodes the memref (dimension 0 outermost) and returns the map in device
/// memory, which is never freed.
MGPU void *mgpuTensorMapEncodeTiledMemref(int64_t rank, void *descriptor,
                                          uint32_t dataType,
                                          uint32_t interleave, uint32_t swizzle,
                                          uint32_t l2Promotion,
                                          uint32_t oobFill, int64_t *box) {
  return pointer(__func__, [&]() -> Result<void *> {
    if (rank < 1 || rank > 5)
      return Error{"the tensor has rank " + std::to_string(rank) +
                       ", expected 1 to 5",
                   ""};
    auto &m = *static_cast<const MemRef *>(descriptor);
    TiledTensor t;
    t.type = static_cast<TensorMapType>(dataType);
    t.rank = static_cast<uint32_t>(rank);
    int64_t elementBytes = bytesOf(t.type);
    t.address = reinterpret_cast<uint64_t>(firstElement(m, elementBytes));
    for (int64_t i = 0; i < rank; ++i) {
      int64_t outer = rank - 1 - i;
      t.sizes[i] = static_cast<uint64_t>(m.sizesAndStrides[outer]);
      t.box[i] = static_cast<uint32_t>(box[outer]);
      if (i > 0)
        t.strides[i - 1] = static_cast<uint64_t>(
            m.sizesAndStrides[rank + outer] * elementBytes);
    }
    t.interleave = interleave;
    t.swizzle = swizzle;
    t.l2Promotion = l2Promotion;
    t.fill = oobFill;
    auto map = encode(t);
    if (!map)
      return map.error();
    auto &devices = Devices::get();
    auto p = devices.allocate(sizeof map->bytes, false);
    if (!p)
      return p;
    auto device = devices.home();
    auto stream = devices.stream(nullptr, **device);
    if (!stream)
      return stream.error();
    auto s = (*stream)->copy(*p, map->bytes, sizeof map->bytes,
                             Direction::HostToDevice);
    if (s)
      s = (*stream)->synchronize();
    if (!s)
      return s.error();
    return p;
  });
}
