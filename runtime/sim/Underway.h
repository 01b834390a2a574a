// SPDX-License-Identifier: Apache-2.0
//
// What the launches of one simulator share while they are under way.
//
// Kernels of different streams may wait for each other. Each launch is a Grid;
// Simulator::advance() lets one after the other run for a while. What they tell
// each other goes through global memory, and so what was released there, and
// that something has changed, is kept here and not by the grid. Their CTAs are
// numbered one launch behind the other:
//
//     launch a    CTAs 0 to 7       under way
//     launch b    CTAs 8 to 11      ended: its accesses are still remembered,
//                                   since a may race with it
//     launch c    CTAs 12 to 75     comes after b, and not after a
//
// When none is under way any more, all is forgotten and numbers begin at 0.
#ifndef ACT_RUNTIME_SIM_UNDERWAY_H
#define ACT_RUNTIME_SIM_UNDERWAY_H
#include "runtime/sim/Clock.h"
#include "runtime/sim/CtaOrder.h"
#include "runtime/sim/Random.h"
#include "runtime/sim/Shadow.h"
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace act::runtime::sim {

class Grid;

/// What a release or a fence leaves for a thread that acquires it.
struct Told {
  KnowledgeRef seen, proxied;
};

/// A word of memory through which threads synchronise: what was released to it,
/// by the threads of a CTA, and for whom.
struct Release {
  struct Part {
    uint32_t cta;
    Scope scope; // Cta, Cluster or Gpu
    Told told;
  };
  std::vector<Part> parts; // of all that tell the GPU, one with the last's CTA
};

class Underway {
public:
  /// Changes of global memory, by kernels or by who waits for them.
  std::atomic<uint64_t> events{0};

  /// Releases by address of a 4-byte word: the message a strong read takes.
  /// Lock `mutex` of the table around an atomic operation and its message.
  struct ReleaseTable {
    std::mutex mutex;
    std::unordered_map<uint64_t, Release> words;
    std::unordered_map<uint64_t, WordHistory> histories; // by address
  };
  ReleaseTable &releasesAt(uint64_t address) {
    return releases[mix(address >> 2) % releases.size()];
  }

  /// Numbers the grid's CTAs behind those of the others. False when there are
  /// no such numbers left.
  bool add(std::shared_ptr<Grid> grid);
  /// It has ended. When it was the last, all is forgotten.
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
