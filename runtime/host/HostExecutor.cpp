// SPDX-License-Identifier: Apache-2.0
//
// The CPU as a device: memory from mmap, kernels on the thread pool, streams
// that do everything at once.
#include "runtime/host/HostExecutor.h"
#include "runtime/host/ElfModule.h"
#include "runtime/host/ImmediateEvent.h"
#include <cstring>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace act;
using namespace act::runtime;

/// Whole pages. An allocation of 0 bytes takes one, because mmap refuses a
/// length of 0 and each allocation needs an address of its own.
static uint64_t mappedSize(uint64_t bytes) {
  return bytes == 0 ? 4096 : (bytes + 4095) / 4096 * 4096;
}

namespace act::runtime {
/// Every call does its work before it returns, so there is no queue, and the
/// order of a stream is the order of the calls.
class HostStream : public Stream {
public:
  explicit HostStream(ThreadPool &pool) : pool(pool) {}
  Status copy(void *to, const void *from, uint64_t bytes, Direction) override {
    std::memmove(to, from, bytes);
    return ok();
  }
  Status fill(void *to, uint8_t value, uint64_t bytes) override {
    std::memset(to, value, bytes);
    return ok();
  }
  Status fillWords(void *to, uint32_t value, unsigned width,
                   uint64_t count) override {
    storeWords(to, value, width, count);
    return ok();
  }
  Status launch(Kernel &kernel, const LaunchShape &shape,
                const Arguments &arguments) override {
    if (arguments.asDeclared)
      return Error{"device host cannot know the sizes of a kernel's arguments",
                   ""};
    if (shape.cooperative || shape.cluster[0] > 1 || shape.cluster[1] > 1 ||
        shape.cluster[2] > 1)
      return Error{
          "device host supports neither clusters nor cooperative launches", ""};
    HostLaunch l;
    l.kernel = static_cast<HostKernelObject &>(kernel).entry;
    l.args = arguments.addresses;
    l.argCount = arguments.count;
    l.grid = shape.grid[0] * shape.grid[1] * shape.grid[2];
    l.scratchBytes = shape.scratchBytes;
    return pool.run(l);
  }
  Status record(Event &event) override {
    return static_cast<ImmediateEvent &>(event).record();
  }
  // Recorded events have already happened.
  Status wait(Event &) override { return ok(); }
  Status synchronize() override { return ok(); }
  Status callback(std::function<void()> function) override {
    function();
    return ok();
  }

private:
  ThreadPool &pool;
};
} // namespace act::runtime

HostExecutor::~HostExecutor() {
  for (auto &[address, block] : blocks)
    if (block.kind == Block::Ours)
      munmap(reinterpret_cast<void *>(address), mappedSize(block.bytes));
    else if (block.release)
      block.release();
}

DeviceInfo HostExecutor::info() const {
  DeviceInfo i;
  i.name = i.kind = "host";
  i.threads = pool.threads();
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  i.memoryBytes = pages > 0 && size > 0 ? uint64_t(pages) * uint64_t(size) : 0;
  i.hostAddressable = true;
  return i;
}

/// The interface promises zeroed memory. Fresh pages are zero, and pages that
/// nobody touches take no memory.
Result<void *> HostExecutor::allocate(uint64_t bytes) {
  // More than a process can map; rounding it up to pages could overflow.
  void *p = bytes > (uint64_t{1} << 47)
                ? MAP_FAILED
                : mmap(nullptr, mappedSize(bytes), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    return Error{"cannot allocate " + std::to_string(bytes) +
                     " bytes on device host",
                 ""};
  // Huge pages, because TLB misses dominate in a large arena of small pages.
  if (bytes >= (4u << 20))
    madvise(p, mappedSize(bytes), MADV_HUGEPAGE);
  std::lock_guard lock(mutex);
  blocks.add(p, {bytes});
  memory.current += bytes;
  memory.peak = memory.current > memory.peak ? memory.current : memory.peak;
  ++memory.allocations;
  return p;
}

Status HostExecutor::free(void *address) {
  std::function<void()> release; // called without the lock
  {
    std::lock_guard lock(mutex);
    auto block = blocks.take(address);
    if (!block)
      return Error{"the address to free is not an allocation of device host",
                   ""};
    if (block->kind == Block::Ours) {
      munmap(address, mappedSize(block->bytes));
      memory.current -= block->bytes;
    }
    release = std::move(block->release);
  }
  if (release)
    release();
  return ok();
}

Status HostExecutor::adopt(void *address, uint64_t bytes,
                           std::function<void()> release) {
  if (!address)
    return Error{"memory to adopt is null", ""};
  std::lock_guard lock(mutex);
  blocks.add(address, {bytes, Block::Adopted, std::move(release)});
  return ok();
}

size_t HostExecutor::allocationsAt(const void *address) const {
  std::lock_guard lock(mutex);
  return blocks.count(address);
}

Status HostExecutor::checkRange(const void *address, uint64_t bytes) const {
  std::lock_guard lock(mutex);
  if (blocks.contain(address, bytes))
    return ok();
  return Error{"a range of " + std::to_string(bytes) +
                   " bytes is not inside an allocation of device host",
               ""};
}

MemoryStatistics HostExecutor::statistics() const {
  std::lock_guard lock(mutex);
  return memory;
}

void HostExecutor::resetPeak() {
  std::lock_guard lock(mutex);
  memory.peak = memory.current;
}

Result<std::unique_ptr<Module>>
HostExecutor::loadModule(const void *data, size_t bytes, bool allowNative) {
  if (!allowNative)
    return Error{"the module is native code, which runs with all rights of "
                 "this process; it is loaded only when native code is allowed",
                 ""};
  return ElfModule::load(data, bytes);
}

Result<std::unique_ptr<Stream>> HostExecutor::createStream() {
  return std::unique_ptr<Stream>(std::make_unique<HostStream>(pool));
}

Result<std::unique_ptr<Event>> HostExecutor::createEvent() {
  return std::unique_ptr<Event>(std::make_unique<ImmediateEvent>());
}

Status HostExecutor::reserveScratch(uint64_t bytesPerThread) {
  return pool.reserveScratch(bytesPerThread);
}

void HostExecutor::forEachScratch(
    const std::function<void(uint8_t *, uint64_t)> &visit) {
  pool.forEachScratch(visit);
}
