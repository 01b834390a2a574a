// SPDX-License-Identifier: Apache-2.0
//
// A card as a device: its primary context, memory, modules and tensor maps. The
// primary context is the one that PyTorch and the CUDA runtime use, so
// addresses can be shared with them.
#include "runtime/cuda/CudaExecutor.h"
#include "runtime/cuda/CudaModule.h"
#include "runtime/cuda/CudaStream.h"
#include <algorithm>
#include <cstdlib>
#include <string_view>

using namespace act;
using namespace act::runtime;
using namespace act::runtime::cuda;

// A bound on the cache, above any program's number of layers. Beyond it the
// cache is cleared.
static constexpr size_t maximumImages = 1024;

Result<std::shared_ptr<Executor>> CudaExecutor::open(const std::string &name) {
  std::string number = name.substr(std::min<size_t>(5, name.size()));
  if (number.empty() || number.size() > 4 ||
      number.find_first_not_of("0123456789") != std::string::npos)
    return Error{"device '" + name + "', expected cuda:N", ""};
  auto driver = CudaDriver::load();
  if (!driver)
    return Error{"device '" + name + "': " + driver.error().message, ""};
  std::shared_ptr<CudaExecutor> device(new CudaExecutor(**driver));
  if (auto s = device->openCard(std::atoi(number.c_str()), name); !s)
    return Error{"device '" + name + "': " + s.error().message, ""};
  return std::shared_ptr<Executor>(device);
}

Status CudaExecutor::openCard(int ordinal, const std::string &name) {
  int count = 0;
  if (CUresult r = driver.cuDeviceGetCount(&count))
    return driver.error(r, "count the cards");
  if (ordinal >= count)
    return Error{"the driver knows " + std::to_string(count) +
                     (count == 1 ? " card" : " cards"),
                 ""};
  if (CUresult r = driver.cuDeviceGet(&device, ordinal))
    return driver.error(r, "get the card");
  if (CUresult r = driver.cuDevicePrimaryCtxRetain(&context, device))
    return driver.error(r, "retain the card's context");
  auto get = [&](int attribute) {
    int value = 0;
    return driver.cuDeviceGetAttribute(&value, attribute, device) == 0 &&
                   value > 0
               ? static_cast<uint32_t>(value)
               : 0u;
  };
  uint32_t major = get(attributeCapabilityMajor);
  facts.name = name;
  facts.kind = "cuda";
  facts.ordinal = static_cast<uint32_t>(ordinal);
  facts.sm = 10 * major + get(attributeCapabilityMinor);
  // The card also runs its architecture-specific instructions, hence the 'a'.
  facts.target = "sm_" + std::to_string(facts.sm) + (major >= 9 ? "a" : "");
  facts.multiprocessors = get(attributeMultiprocessors);
  facts.sharedBytesPerBlock = get(attributeSharedOptin);
  size_t bytes = 0;
  if (driver.cuDeviceTotalMem(&bytes, device) == 0)
    facts.memoryBytes = bytes;
  return ok();
}

// Callbacks that release adopted memory are called last, without the context:
// they may call into the library that lent it.
CudaExecutor::~CudaExecutor() {
  if (!context)
    return;
  images.clear();
  std::vector<std::function<void()>> releases;
  {
    CurrentContext current(driver, context);
    for (auto &[address, block] : blocks) {
      if (block.kind == Block::Ours)
        driver.cuMemFree(address);
      else if (block.kind == Block::Registered)
        driver.cuMemHostUnregister(reinterpret_cast<void *>(address));
      else if (block.release)
        releases.push_back(std::move(block.release));
    }
  }
  driver.cuDevicePrimaryCtxRelease(device);
  for (auto &release : releases)
    release();
}

// ---- Memory -----------------------------------------------------------------

Result<void *> CudaExecutor::remember(CUresult result, CUdeviceptr p,
                                      uint64_t bytes) {
  std::string what =
      "allocate " + std::to_string(bytes) + " bytes on device " + facts.name;
  if (result != 0)
    return driver.error(result, what.c_str());
  // The interface promises zeroed memory. Synchronised below, so that later
  // work on other streams sees the zeros.
  result = driver.cuMemsetD8Async(p, 0, std::max<uint64_t>(bytes, 1), nullptr);
  if (result == 0)
    result = driver.cuStreamSynchronize(nullptr);
  if (result != 0) {
    driver.cuMemFree(p);
    return driver.error(result, what.c_str());
  }
  std::lock_guard lock(mutex);
  blocks.add(reinterpret_cast<void *>(p), {bytes});
  memory.current += bytes;
  memory.peak = std::max(memory.peak, memory.current);
  ++memory.allocations;
  return reinterpret_cast<void *>(p);
}

FreeMemory CudaExecutor::freeMemory() const {
  size_t free = 0, all = 0;
  CurrentContext current(driver, context);
  if (current.status() && driver.cuMemGetInfo &&
      driver.cuMemGetInfo(&free, &all) == 0)
    return {free, "of the card's " + std::to_string(all)};
  return {};
}

Result<void *> CudaExecutor::allocate(uint64_t bytes) {
  CurrentContext current(driver, context);
  if (auto s = current.status(); !s)
    return s.error();
  CUdeviceptr p = 0;
  CUresult r = driver.cuMemAlloc(&p, std::max<uint64_t>(bytes, 1));
  return remember(r, p, bytes);
}

Result<void *> CudaExecutor::allocateShared(uint64_t bytes) {
  CurrentContext current(driver, context);
  if (auto s = current.status(); !s)
    return s.error();
  CUdeviceptr p = 0;
  CUresult r = driver.cuMemAllocManaged(&p, std::max<uint64_t>(bytes, 1),
                                        memoryAttachGlobal);
  return remember(r, p, bytes);
}

Status CudaExecutor::free(void *address) {
  std::function<void()> release;
  {
    std::lock_guard lock(mutex);
    auto block = blocks.take(address);
    if (!block)
      return Error{"the address to free is not an allocation of device " +
                       facts.name,
                   ""};
    if (block->kind == Block::Ours) {
      CurrentContext current(driver, context);
      if (CUresult r =
              driver.cuMemFree(reinterpret_cast<CUdeviceptr>(address))) {
        blocks.add(address, std::move(*block));
        return driver.error(r, "free memory");
      }
      memory.current -= block->bytes;
    }
    release = std::move(block->release);
  }
  if (release)
    release();
  return ok();
}

Status CudaExecutor::adopt(void *address, uint64_t bytes,
                           std::function<void()> release) {
  if (!address)
    return Error{"memory to adopt is null", ""};
  std::lock_guard lock(mutex);
  blocks.add(address, {bytes, Block::Adopted, std::move(release)});
  return ok();
}

Status CudaExecutor::registerHost(void *address, uint64_t bytes) {
  CurrentContext current(driver, context);
  if (auto s = current.status(); !s)
    return s;
  if (CUresult r = driver.cuMemHostRegister(address, bytes, 0))
    return driver.error(r, "register memory of the host");
  std::lock_guard lock(mutex);
  blocks.add(address, {bytes, Block::Registered});
  return ok();
}

Status CudaExecutor::unregisterHost(void *address) {
  std::lock_guard lock(mutex);
  auto block = blocks.take(address, /*registered=*/true);
  if (!block)
    return Error{"the memory to unregister was never registered", ""};
  CurrentContext current(driver, context);
  if (CUresult r = driver.cuMemHostUnregister(address)) {
    blocks.add(address, std::move(*block));
    return driver.error(r, "unregister memory of the host");
  }
  return ok();
}

size_t CudaExecutor::allocationsAt(const void *address) const {
  std::lock_guard lock(mutex);
  return blocks.count(address);
}

// Variables of modules are device memory too, though nobody allocated them
// here.
Status CudaExecutor::checkRange(const void *address, uint64_t bytes) const {
  auto a = reinterpret_cast<uintptr_t>(address);
  std::lock_guard lock(mutex);
  if (blocks.contain(address, bytes))
    return ok();
  for (const auto &weak : live)
    if (auto image = weak.lock())
      if (image->contains(a, bytes))
        return ok();
  return Error{"a range of " + std::to_string(bytes) +
                   " bytes is not inside an allocation of device " + facts.name,
               ""};
}

MemoryStatistics CudaExecutor::statistics() const {
  std::lock_guard lock(mutex);
  return memory;
}

void CudaExecutor::resetPeak() {
  std::lock_guard lock(mutex);
  memory.peak = memory.current;
}

// ---- Modules, streams, events ----------------------------------------------

namespace {
class CudaModule : public Module {
public:
  explicit CudaModule(std::shared_ptr<CudaImage> image)
      : image(std::move(image)) {}
  Result<Kernel *> kernel(const std::string &symbol) override {
    return image->kernel(symbol);
  }
  Result<Variable> variable(const std::string &symbol) override {
    return image->variable(symbol);
  }

private:
  std::shared_ptr<CudaImage> image;
};
} // namespace

// FNV-1a, called with two different start values.
static uint64_t hash(std::string_view text, uint64_t h) {
  for (unsigned char c : text)
    h = (h ^ c) * 0x100000001b3;
  return h;
}

// Whether loading the text twice must give two sets of variables. In PTX, a dot
// and a state space followed by white space is a declaration. Machine code may
// always have state.
static bool hasState(std::string_view text) {
  if (text.find(".version") == std::string_view::npos)
    return true;
  for (const char *space : {".global", ".const"}) {
    size_t n = std::string_view(space).size();
    for (size_t at = text.find(space); at != std::string_view::npos;
         at = text.find(space, at + n))
      if (at + n < text.size() && std::string_view(" \t\r\n").find(
                                      text[at + n]) != std::string_view::npos)
        return true;
  }
  return false;
}

// The driver compiles PTX each time it is loaded, so equal text without
// variables of its own is loaded once.
Result<std::unique_ptr<Module>> CudaExecutor::loadModule(const void *data,
                                                         size_t bytes, bool) {
  std::string_view text(static_cast<const char *>(data), bytes);
  bool cached = !hasState(text);
  Content key{bytes, hash(text, 0xcbf29ce484222325),
              hash(text, 0x9e3779b97f4a7c15)};
  std::shared_ptr<CudaImage> image;
  if (cached) {
    std::lock_guard lock(mutex);
    if (auto it = images.find(key); it != images.end())
      image = it->second;
  }
  if (!image) {
    auto loaded = CudaImage::load(*this, data, bytes);
    if (!loaded)
      return loaded.error();
    image = *loaded;
    std::lock_guard lock(mutex);
    live.erase(std::remove_if(live.begin(), live.end(),
                              [](auto &w) { return w.expired(); }),
               live.end());
    live.push_back(image);
    if (cached) {
      if (images.size() >= maximumImages)
        images.clear();
      images[key] = image;
    }
  }
  return std::unique_ptr<Module>(new CudaModule(std::move(image)));
}

Result<std::unique_ptr<Stream>> CudaExecutor::createStream() {
  return CudaStream::create(*this);
}

Result<std::unique_ptr<Event>> CudaExecutor::createEvent() {
  return CudaEvent::create(*this);
}

Result<TensorMap> CudaExecutor::encodeTensorMap(const TiledTensor &t) {
  if (!driver.cuTensorMapEncodeTiled)
    return Error{"the CUDA driver is too old for tensor maps: it lacks "
                 "cuTensorMapEncodeTiled",
                 ""};
  if (auto s = checkTiledTensor(t); !s)
    return s.error();
  CurrentContext current(driver, context);
  TensorMap map{};
  CUresult r = driver.cuTensorMapEncodeTiled(
      map.bytes, static_cast<int>(t.type), t.rank,
      reinterpret_cast<void *>(t.address), t.sizes, t.strides, t.box,
      t.elementStrides, static_cast<int>(t.interleave),
      static_cast<int>(t.swizzle), static_cast<int>(t.l2Promotion),
      static_cast<int>(t.fill));
  if (r != 0)
    return driver.error(r, "encode a tensor map");
  return map;
}
