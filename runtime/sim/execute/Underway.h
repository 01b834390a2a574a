// SPDX-License-Identifier: Apache-2.0
//
// State that the launches of one simulator share while they are under way.
//
// Kernels of different streams may wait for each other. Each launch is a Grid;
// Simulator::advance() runs each in turn for a while. They communicate through
// global memory, so the releases made there and the change counter are kept
// here and not in the grid. Launches number their CTAs consecutively:
//
//     launch a    CTAs 0 to 7       under way
//     launch b    CTAs 8 to 11      ended: its accesses are still remembered,
//                                   since a may race with it
//     launch c    CTAs 12 to 75     comes after b, and not after a
//
// When no launch is under way any more, all state is dropped and numbering
// restarts at 0.
#ifndef ACT_RUNTIME_SIM_EXECUTE_UNDERWAY_H
#define ACT_RUNTIME_SIM_EXECUTE_UNDERWAY_H
#include "runtime/sim/execute/Machine.h"
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace act::runtime::sim {

/// What was released to a word of memory: for each CTA and scope, what its
/// threads published.
struct Release {
  struct Part {
    uint32_t cta;
    Scope scope; // Cta, Cluster or Gpu
    Told told;
  };
  // All releases with GPU scope share one part, with the last one's CTA.
  std::vector<Part> parts;
};

class Underway {
public:
  /// Counts changes of global memory by kernels or by the host.
  std::atomic<uint64_t> events{0};

  /// Releases by address of a 4-byte word; a strong read acquires them. Hold
  /// the table's `mutex` over an atomic operation and its release or acquire.
  struct ReleaseTable {
    std::mutex mutex;
    std::unordered_map<uint64_t, Release> words;
    std::unordered_map<uint64_t, WordHistory> histories; // by address
  };
  ReleaseTable &releasesAt(uint64_t address) {
    return releases[mix(address >> 2) % releases.size()];
  }

  /// Numbers the grid's CTAs after those of the others. False when the numbers
  /// run out.
  bool add(std::shared_ptr<Grid> grid);
  /// Call it when a launch has ended. After the last one, drops all state.
  void end(const Grid &grid);
  bool empty() const { return running == 0; }
  bool isAlone() const { return running == 1; }
  /// The launch of a CTA, which may have ended.
  const Grid &gridOf(uint32_t cta) const;

private:
  std::array<ReleaseTable, 64> releases;
  std::vector<std::shared_ptr<Grid>> grids; // by firstCta
  std::vector<const Grid *> ended;
  unsigned running = 0;
};

} // namespace act::runtime::sim
#endif
