// SPDX-License-Identifier: Apache-2.0
//
// Allocations and their shadows. Device addresses are host addresses, so that
// handlers access memory directly.
#include "runtime/sim/memory/Memory.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

namespace act::runtime::sim {

namespace {

constexpr uint64_t page = 4096;
// The address hint for mappings, so that addresses repeat from run to run; the
// system may choose others.
constexpr uint64_t arenaBase = uint64_t(0x7000) << 28;

std::string bytesText(uint64_t n) {
  return std::to_string(n) + (n == 1 ? " byte" : " bytes");
}

} // namespace

Memory::Memory(bool checks) : withChecks(checks), nextHint(arenaBase) {}

Memory::~Memory() {
  for (auto &[address, length] : owned)
    munmap(reinterpret_cast<void *>(address), length);
}

Result<void *> Memory::allocate(uint64_t bytes, const std::string &name) {
  std::unique_lock lock(mutex);
  // An inaccessible page follows, so that allocations are never adjacent.
  const uint64_t most =
      uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
  if (bytes > most)
    return Error{"cannot allocate " + bytesText(bytes) +
                     ", more than this machine has",
                 ""};
  // Reserved, not touched: pages that a kernel never uses cost nothing.
  uint64_t length = (bytes + page - 1) / page * page + page;
  void *p =
      mmap(reinterpret_cast<void *>(nextHint), length, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    return Error{"cannot allocate " + bytesText(bytes), ""};
  nextHint += length;
  uint64_t address = reinterpret_cast<uint64_t>(p);
  mprotect(static_cast<char *>(p) + length - page, page, PROT_NONE);
  owned[address] = length;
  auto region = std::make_unique<Region>();
  region->data = static_cast<std::byte *>(p);
  region->bytes = bytes;
  region->name =
      name.empty() ? "allocation " + std::to_string(++allocations) : name;
  if (withChecks)
    region->shadow = std::make_unique<Shadow>(bytes, true);
  regions[address] = std::move(region);
  return p;
}

Status Memory::free(void *pointer) {
  std::unique_lock lock(mutex);
  uint64_t address = reinterpret_cast<uint64_t>(pointer);
  auto it = owned.find(address);
  if (it == owned.end())
    return Error{"no allocation starts at this address", ""};
  munmap(pointer, it->second);
  owned.erase(it);
  regions.erase(address);
  return ok();
}

// The host has written this memory already, as far as anyone knows, so all of
// it counts as defined.
void Memory::registerHost(void *pointer, uint64_t bytes,
                          const std::string &name) {
  std::unique_lock lock(mutex);
  auto region = std::make_unique<Region>();
  region->data = static_cast<std::byte *>(pointer);
  region->bytes = bytes;
  region->name = name;
  region->hostSees = true;
  if (withChecks) {
    region->shadow = std::make_unique<Shadow>(bytes, true);
    region->shadow->define(0, bytes);
  }
  regions[reinterpret_cast<uint64_t>(pointer)] = std::move(region);
}

void Memory::unregisterHost(void *pointer) {
  std::unique_lock lock(mutex);
  uint64_t address = reinterpret_cast<uint64_t>(pointer);
  if (!owned.count(address))
    regions.erase(address);
}

Region *Memory::find(uint64_t address) const {
  std::shared_lock lock(mutex);
  auto it = regions.upper_bound(address);
  if (it == regions.begin())
    return nullptr;
  --it;
  return address - it->first < it->second->bytes ? it->second.get() : nullptr;
}

std::string Memory::describe(uint64_t address) const {
  std::shared_lock lock(mutex);
  auto after = regions.upper_bound(address);
  if (after != regions.begin()) {
    auto before = std::prev(after);
    const Region &r = *before->second;
    uint64_t offset = address - before->first;
    if (offset < r.bytes)
      return r.name + " + " + std::to_string(offset) + " (of " +
             bytesText(r.bytes) + ")";
    bool nearer =
        after == regions.end() || offset - r.bytes <= after->first - address;
    if (nearer)
      return bytesText(offset - r.bytes) + " past the end of " + r.name + " (" +
             bytesText(r.bytes) + ")";
  }
  if (after != regions.end())
    return bytesText(after->first - address) + " before " +
           after->second->name + " (" + bytesText(after->second->bytes) + ")";
  return "there are no allocations";
}

// No launch is under way, so nothing that was accessed before can race. Which
// bytes are defined stays.
void Memory::beginLaunch() {
  std::shared_lock lock(mutex);
  for (auto &[address, region] : regions)
    if (region->shadow)
      region->shadow->forgetAccesses();
}

void Memory::markInitialised(const void *pointer, uint64_t bytes) {
  uint64_t address = reinterpret_cast<uint64_t>(pointer);
  Region *r = find(address);
  if (!r || !r->shadow)
    return;
  uint64_t offset = address - reinterpret_cast<uint64_t>(r->data);
  r->shadow->define(offset, std::min(bytes, r->bytes - offset));
}

void Memory::copyDefined(void *to, const void *from, uint64_t bytes) {
  Region *target = find(reinterpret_cast<uint64_t>(to)),
         *source = find(reinterpret_cast<uint64_t>(from));
  if (!target || !target->shadow)
    return; // the host's own
  if (!source || !source->shadow)
    return markInitialised(to, bytes);
  const uint64_t at = uint64_t(static_cast<std::byte *>(to) - target->data),
                 of = uint64_t(static_cast<const std::byte *>(from) -
                               source->data);
  const auto undefined = source->shadow->undefined(of, bytes);
  target->shadow->define(at, bytes);
  for (const auto &part : undefined)
    target->shadow->undefine(at + (part.offset - of), part.bytes, part.store);
}

// One finding per store, with the number of bytes that the host gets of it.
// They count as defined from now on: each is reported once.
std::vector<Finding> Memory::taken(Region &region, uint64_t offset,
                                   uint64_t bytes) {
  std::map<uint32_t, std::pair<uint64_t, uint64_t>> byStore; // first, how many
  for (const auto &part : region.shadow->undefined(offset, bytes))
    if (part.store) {
      byStore.try_emplace(part.store, part.offset, 0).first->second.second +=
          part.bytes;
      region.shadow->define(part.offset, part.bytes);
    }
  std::vector<Finding> findings;
  for (auto &[store, where] : byStore) {
    Finding f = origins.store(store).by;
    f.message += "; the host gets " + bytesText(where.second) + " of that";
    f.hasAddress = true;
    f.address = reinterpret_cast<uint64_t>(region.data + where.first);
    f.where = region.name + " + " + std::to_string(where.first) + " (of " +
              bytesText(region.bytes) + ")";
    findings.push_back(std::move(f));
  }
  return findings;
}

std::vector<Finding> Memory::takenByHost(const void *pointer, uint64_t bytes) {
  uint64_t address = reinterpret_cast<uint64_t>(pointer);
  Region *r = find(address);
  if (!r || !r->shadow || !r->shadow->holdsUndefined())
    return {};
  uint64_t offset = address - reinterpret_cast<uint64_t>(r->data);
  return taken(*r, offset, std::min(bytes, r->bytes - offset));
}

void Memory::showToHost(void *address) {
  if (Region *r = find(reinterpret_cast<uint64_t>(address)))
    r->hostSees = true;
}

std::vector<Finding> Memory::takenByHost() {
  std::shared_lock lock(mutex);
  std::vector<Finding> all;
  for (auto &[address, r] : regions)
    if (r->hostSees && r->shadow && r->shadow->holdsUndefined())
      for (Finding &f : taken(*r, 0, r->bytes))
        all.push_back(std::move(f));
  return all;
}

uint64_t Memory::uninitialised(const void *pointer, uint64_t bytes,
                               uint64_t elementBytes) const {
  uint64_t address = reinterpret_cast<uint64_t>(pointer), count = 0, next = 0;
  Region *r = find(address);
  if (!r || !r->shadow || elementBytes == 0)
    return 0;
  uint64_t offset = address - reinterpret_cast<uint64_t>(r->data);
  // Whole elements only; `next` is the first not counted yet.
  bytes = std::min(bytes, r->bytes - offset) / elementBytes * elementBytes;
  for (const auto &part : r->shadow->undefined(offset, bytes)) {
    uint64_t first = (part.offset - offset) / elementBytes,
             last = (part.offset + part.bytes - 1 - offset) / elementBytes;
    first = std::max(first, next);
    if (first <= last) {
      count += last + 1 - first;
      next = last + 1;
    }
  }
  return count;
}

} // namespace act::runtime::sim
