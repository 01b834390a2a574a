// SPDX-License-Identifier: Apache-2.0
//
// The simulator behind the runtime's device interface: memory, modules,
// findings.
#include "runtime/sim/device/SimExecutor.h"
#include "runtime/FatBinary.h"
#include "runtime/sim/device/SimModule.h"
#include "runtime/sim/device/SimStream.h"
#include <cstring>
#include <unistd.h>

using namespace act;
using namespace act::runtime;

static sim::Options optionsOf(const DeviceOptions &o) {
  sim::Options out;
  out.checks = o.checks;
  out.strict = o.strict;
  out.seed = o.seed;
  out.drawsRounding = o.drawsRounding;
  out.maximumInstructions = o.maximumInstructions;
  out.threads = o.threads;
  return out;
}

Result<std::shared_ptr<Executor>>
SimExecutor::open(const std::string &target, const DeviceOptions &options) {
  auto t = sim::targetNamed(target);
  if (!t)
    return t.error();
  return std::shared_ptr<Executor>(std::make_shared<SimExecutor>(*t, options));
}

SimExecutor::SimExecutor(const sim::Target &target,
                         const DeviceOptions &options)
    : SimQueues(target, optionsOf(options), options.benignFails) {
  facts.name = "sim:" + target.name;
  facts.kind = "sim";
  facts.target = target.name;
  facts.sm = target.sm;
  facts.threads = options.threads;
  if (facts.threads == 0)
    facts.threads =
        static_cast<uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  facts.multiprocessors = target.processors;
  facts.sharedBytesPerBlock = target.sharedBytesPerBlock;
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  facts.memoryBytes =
      pages > 0 && size > 0 ? uint64_t(pages) * uint64_t(size) : 0;
}

// The simulator frees its own memory; adopted memory goes back to its owner.
SimExecutor::~SimExecutor() {
  for (auto &[address, block] : blocks)
    if (block.release)
      block.release();
}

Result<void *> SimExecutor::allocate(uint64_t bytes) {
  auto p = simulator.allocate(bytes);
  if (!p)
    return Error{"cannot allocate " + std::to_string(bytes) +
                     " bytes on device " + facts.name,
                 ""};
  // The interface promises zeros, so they count as written.
  simulator.markInitialised(*p, bytes);
  std::lock_guard lock(mutex);
  blocks.add(*p, {bytes});
  memory.current += bytes;
  memory.peak = std::max(memory.peak, memory.current);
  ++memory.allocations;
  return p;
}

Result<void *> SimExecutor::allocateShared(uint64_t bytes) {
  auto p = allocate(bytes);
  if (p) { // what the CPU writes there is not seen
    writtenByOthers(*p, bytes);
    simulator.memory().showToHost(*p);
  }
  return p;
}

Status SimExecutor::free(void *address) {
  // Launches under way may use it.
  finishAll();
  std::function<void()> release;
  {
    std::lock_guard lock(mutex);
    auto block = blocks.take(address);
    if (!block)
      return Error{"the address to free is not an allocation of device " +
                       facts.name,
                   ""};
    if (block->kind == Block::Adopted) {
      simulator.unregisterHost(address);
    } else {
      if (auto s = simulator.free(address); !s) {
        blocks.add(address, std::move(*block));
        return s;
      }
      memory.current -= block->bytes;
    }
    release = std::move(block->release);
  }
  if (release)
    release();
  return ok();
}

// Memory of others becomes an allocation. Ranges must not overlap: an address
// has to belong to one allocation.
Status SimExecutor::adopt(void *address, uint64_t bytes,
                          std::function<void()> release) {
  std::lock_guard lock(mutex);
  if (!address || blocks.overlap(address, bytes))
    return Error{
        "memory to adopt is null or overlaps an allocation of device " +
            facts.name,
        ""};
  simulator.registerHost(address, bytes, "host memory");
  blocks.add(address, {bytes, Block::Adopted, std::move(release)});
  return ok();
}

size_t SimExecutor::allocationsAt(const void *address) const {
  std::lock_guard lock(mutex);
  return blocks.count(address);
}

void SimExecutor::writtenByOthers(void *address, uint64_t bytes) {
  simulator.markInitialised(address, bytes);
}

Status SimExecutor::checkRange(const void *address, uint64_t bytes) const {
  auto a = reinterpret_cast<uintptr_t>(address);
  {
    std::lock_guard lock(mutex);
    if (blocks.contain(address, bytes))
      return ok();
  }
  // Or a variable of a module.
  auto &space = const_cast<sim::Simulator &>(simulator).memory();
  if (const sim::Region *r = space.find(a)) {
    uint64_t offset = a - reinterpret_cast<uintptr_t>(r->data);
    if (!r->isShared && bytes <= r->bytes - offset)
      return ok();
  }
  return Error{"a range of " + std::to_string(bytes) +
                   " bytes is not inside an allocation of device " + facts.name,
               ""};
}

MemoryStatistics SimExecutor::statistics() const {
  std::lock_guard lock(mutex);
  return memory;
}

void SimExecutor::resetPeak() {
  std::lock_guard lock(mutex);
  memory.peak = memory.current;
}

Result<std::unique_ptr<Module>> SimExecutor::loadModule(const void *data,
                                                        size_t bytes, bool) {
  auto text =
      ptxOf({static_cast<const char *>(data), bytes}, [&](const PtxTarget &t) {
        return sim::runs(simulator.target(), t.sm, t.suffix);
      });
  if (!text)
    return text.error();
  auto module = simulator.load(*text, "<ptx>");
  if (!module)
    return module.error();
  return std::unique_ptr<Module>(new SimModule(*this, std::move(*module)));
}

Result<std::unique_ptr<Stream>> SimExecutor::createStream() {
  SimQueues &own = *this;
  return std::unique_ptr<Stream>(std::make_unique<SimStream>(own));
}

Result<std::unique_ptr<Event>> SimExecutor::createEvent() {
  SimQueues &own = *this;
  return std::unique_ptr<Event>(std::make_unique<SimEvent>(own));
}

Result<TensorMap> SimExecutor::encodeTensorMap(const TiledTensor &tensor) {
  if (facts.sm < 90)
    return Error{
        "device " + facts.name +
            " does not support tensor maps, which need sm_90 or higher",
        ""};
  return runtime::encodeTensorMap(tensor);
}

Status SimExecutor::synchronize() {
  std::lock_guard lock(running);
  finishAll();
  for (auto &queue : queues)
    if (queue->failure)
      return takeFailure(*queue);
  // A stream that is gone may have left a failure too.
  SimQueue none;
  return takeFailure(none);
}
