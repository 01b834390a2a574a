// SPDX-License-Identifier: Apache-2.0
//
// Addresses. A generic address is 64 bits:
//
//   0                        the null pointer and its page: never valid
//   sharedWindow +           shared memory: rank 0 is the executing CTA's own,
//   (rank << 24 | offset)    rank r + 1 that of the cluster's r-th CTA
//   localWindow + offset     the thread's own local memory
//   anything else            global: a host address inside a Region
//
// In state space .shared an address is the 32-bit offset from sharedWindow, in
// .local from localWindow; .const, .param of kernels and .global use host
// addresses unchanged.
//
// A Region is an allocation with its shadow. Shadows exist only with checks on.
#ifndef ACT_RUNTIME_SIM_MEMORY_MEMORY_H
#define ACT_RUNTIME_SIM_MEMORY_MEMORY_H
#include "act/Result.h"
#include "runtime/sim/memory/Origins.h"
#include "runtime/sim/memory/Shadow.h"
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>

namespace act::runtime::sim {

constexpr uint64_t sharedWindow = uint64_t(0x5fff) << 32;
constexpr uint64_t localWindow = uint64_t(0x5ffe) << 32;
constexpr uint64_t windowBytes = uint64_t(1) << 32;
constexpr unsigned sharedRankShift = 24;
inline bool isSharedAddress(uint64_t a) {
  return a - sharedWindow < windowBytes;
}
inline bool isLocalAddress(uint64_t a) { return a - localWindow < windowBytes; }

/// A range of memory that accesses must stay within.
struct Region {
  std::byte *data = nullptr;
  uint64_t bytes = 0;
  std::string name; // "'x'", "shared memory", "allocation 3"
  bool readOnly = false;
  bool isShared = false;          // shared memory of a CTA; else global
  bool hostSees = false;          // directly, without a copy
  uint32_t ctaRank = 0;           // isShared: rank in the cluster
  std::unique_ptr<Shadow> shadow; // null: no checks
};

class Memory {
public:
  explicit Memory(bool checks);
  ~Memory();
  Result<void *> allocate(uint64_t bytes, const std::string &name);
  Status free(void *address);
  void registerHost(void *address, uint64_t bytes, const std::string &name);
  void unregisterHost(void *address);
  /// The region that holds the byte, or null.
  Region *find(uint64_t address) const;
  /// For messages: the address relative to the nearest region at or before it,
  /// else after it.
  std::string describe(uint64_t address) const;
  /// A new launch: all shadows forget accesses and keep which bytes are
  /// defined.
  void beginLaunch();
  void markInitialised(const void *address, uint64_t bytes);
  /// A copy by the device: undefined bytes stay undefined.
  void copyDefined(void *to, const void *from, uint64_t bytes);
  /// The host reads these bytes: one finding for each place in a kernel that
  /// stored undefined values there. They count as defined from then on. Bytes
  /// never written are no finding: a kernel need not fill all of a result.
  std::vector<Finding> takenByHost(const void *address, uint64_t bytes);
  /// The host sees this region without a copy, so the end of a launch counts as
  /// one. `address`: the start, as given to registerHost() or by allocate().
  void showToHost(void *address);
  /// takenByHost() for all memory shown to the host.
  std::vector<Finding> takenByHost();
  /// How many elements there contain a byte that was never written; 0 without
  /// checks.
  uint64_t uninitialised(const void *address, uint64_t bytes,
                         uint64_t elementBytes) const;
  bool checks() const { return withChecks; }
  Origins origins; // of undefined values in its regions

private:
  bool withChecks;
  mutable std::shared_mutex mutex;
  std::map<uint64_t, std::unique_ptr<Region>> regions; // by first address
  std::map<uint64_t, uint64_t> owned; // mapped by allocate(): address, length
  uint64_t nextHint = 0;              // address hint for the next mapping
  uint64_t allocations = 0;           // ever made, for names
  std::vector<Finding> taken(Region &region, uint64_t offset, uint64_t bytes);
};

} // namespace act::runtime::sim
#endif
