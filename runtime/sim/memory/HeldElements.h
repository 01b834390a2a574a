// SPDX-License-Identifier: Apache-2.0
//
// Elements that several threads of a block hold and update in place.
//
//     thread 0    ld x    compute    st x
//     thread 32   ld x    compute    st x          the same value
//
// Compilers give an element to several threads when a tile is smaller than the
// block. The store of thread 0 races with the load of thread 32. The result is
// right if all have loaded before the first stores. A thread shows that it has
// when it stores the value that is already there. So the race is kept here
// until all its readers have done so, and is then harmless. Races left when the
// launch ends are reported like any other.
#ifndef ACT_RUNTIME_SIM_MEMORY_HELDELEMENTS_H
#define ACT_RUNTIME_SIM_MEMORY_HELDELEMENTS_H
#include "runtime/sim/memory/Clock.h"
#include "runtime/sim/program/Finding.h"
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

namespace act::runtime::sim {

class HeldElements {
public:
  /// A write at `where`, the key of a byte, raced with these readers. False
  /// when the table is full.
  bool add(uint64_t where, const std::vector<Epoch> &readers, Finding race);
  /// `thread` stored the value that was there. Calls `harmless` for races whose
  /// readers have all done so.
  void stored(uint64_t where, Epoch thread,
              const std::function<void(Finding)> &harmless);
  bool empty() const { return !count; }
  /// Removes and returns the races that are left.
  std::vector<Finding> takeAll();

private:
  static constexpr size_t most = 1 << 16;
  struct Race {
    std::vector<Epoch> readers;
    Finding finding;
  };
  std::mutex mutex;
  std::atomic<size_t> count{0};
  std::map<uint64_t, std::vector<Race>> races; // in the order of addresses
};

} // namespace act::runtime::sim
#endif
