// SPDX-License-Identifier: Apache-2.0
//
// Addresses. A generic address is 64 bits:
//
//   0                                    a null pointer and its page: never
//   valid sharedWindow + (rank << 24 | offset) shared memory; rank 0 is the
//   executing
//                                        CTA's own, rank r + 1 the cluster's
//                                        r-th
//   localWindow + offset                 the thread's own local memory
//   anything else                        global: a host address inside a Region
//
// In state space .shared an address is the 32 bits behind sharedWindow, in
// .local those behind localWindow; .const, .param of kernels and .global are
// host addresses as they are.
//
// A Region is an allocation with its shadow. Shadows exist while checks are on.
#ifndef ACT_RUNTIME_SIM_MEMORY_H
#define ACT_RUNTIME_SIM_MEMORY_H
#include "act/Result.h"
#include "runtime/sim/Origins.h"
#include "runtime/sim/Shadow.h"
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

/// A stretch of memory that accesses must stay inside of.
struct Region {
  std::byte *data = nullptr;
  uint64_t bytes = 0;
  std::string name; // "'x'", "shared memory", "allocation 3"
  bool readOnly = false;
  bool isShared = false;          // shared memory of a CTA; else global
  bool hostSees = false;          // as it stands, without a copy
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
  /// The nearest region at or before, else after: for messages.
  std::string describe(uint64_t address) const;
  /// All shadows forget accesses (what is initialised stays): a new launch.
  void beginLaunch();
  void markInitialised(const void *address, uint64_t bytes);
  /// The device copies: what was undefined there is so here.
  void copyDefined(void *to, const void *from, uint64_t bytes);
  /// The host takes bytes as they are: a finding for each place in a kernel
  /// that stored undefined values there. They count as defined from then on.
  /// Bytes that nobody wrote are none: a kernel need not fill all of a result.
  std::vector<Finding> takenByHost(const void *address, uint64_t bytes);
  /// The host sees this memory without a copy (only the start of it counts, as
  /// allocate() and registerHost() gave it): a launch that ends is one.
  void showToHost(void *address);
  /// takenByHost() of all memory that is shown.
  std::vector<Finding> takenByHost();
  /// How many of the elements there have a byte that nobody wrote; without
  /// checks nobody knows: 0.
  uint64_t uninitialised(const void *address, uint64_t bytes,
                         uint64_t elementBytes) const;
  bool checks() const { return withChecks; }
  Origins origins; // of undefined values in its regions

private:
  bool withChecks;
  mutable std::shared_mutex mutex;
  std::map<uint64_t, std::unique_ptr<Region>> regions; // by first address
  std::map<uint64_t, uint64_t> owned; // mapped by allocate(): address, length
  uint64_t nextHint = 0;              // where the next mapping is asked to go
  uint64_t allocations = 0;           // ever made, for names
  std::vector<Finding> taken(Region &region, uint64_t offset, uint64_t bytes);
};

} // namespace act::runtime::sim
#endif
