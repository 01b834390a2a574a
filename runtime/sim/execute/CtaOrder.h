// SPDX-License-Identifier: Apache-2.0
//
// Detects a CTA that waits for one that need not have begun: with fewer
// resident CTAs it would wait for ever.
//
// The value of a strong read proves that its writer has begun, and every
// cluster that the writer had heard of. Other clusters may begin later; but if
// the simulator happened to run them first, a wait for them would succeed at
// the first read. So the first read of a polling loop gets what the word held
// before any of those clusters wrote it, as if they had not begun; that is a
// legal execution. A loop that then reads again waits for them.
//
//     flag            0, then 1 by cluster 3
//     cluster 5       ld.acquire [flag] → 0: it has heard nothing of cluster 3
//                     ld.acquire [flag]: once more, a finding → 1
//
// A program that takes a ticket from a counter has read what the earlier ones
// wrote there, so it may wait for them.
#ifndef ACT_RUNTIME_SIM_EXECUTE_CTAORDER_H
#define ACT_RUNTIME_SIM_EXECUTE_CTAORDER_H
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace act::runtime::sim {

struct Context;
struct Instruction;
class Warp;

/// A set of clusters that provably have begun.
class Begun {
public:
  bool has(uint32_t cluster) const {
    return cluster / 64 < words.size() &&
           words[cluster / 64] >> cluster % 64 & 1;
  }
  void add(uint32_t cluster);
  void add(const Begun &other);

private:
  std::vector<uint64_t> words;
};

/// The history of a word of global memory: its writers, and its value before
/// each. It covers one launch: a write by another begins a new history, since
/// the order in which launches begin is unknown.
class WordHistory {
public:
  /// The launch, as its first CTA.
  uint32_t launch = ~uint32_t(0);
  /// Records a write. `modifies`: a read-modify-write, whose result still
  /// proves the earlier writers; a store does not.
  void write(uint32_t cluster, const Begun &heard, const std::byte *before,
             unsigned bytes, bool modifies);
  const Begun &proof() const { return begun; }
  /// The value before the first write by a cluster that is neither `cluster`
  /// nor in `heard`. Null when there is none, or it is no longer known.
  const std::byte *before(uint32_t cluster, const Begun &heard,
                          unsigned bytes) const;

private:
  static constexpr size_t maximumTurns = 64;
  struct Turn {
    uint32_t cluster, bytes;
    std::byte before[8];
  };
  std::vector<Turn> turns; // consecutive writes by one cluster are one turn
  Begun begun;
  bool tooMany = false;
};

/// A cluster's polls of words whose writers need not have begun.
class Looks {
public:
  enum class Answer : uint8_t { Real, Before, Waits };
  /// A poll of `word`, by one instruction for all lanes. Before: the first
  /// poll, which gets the earlier value. Waits: the first repetition, so the
  /// loop waits. Real: read the memory, no finding.
  Answer look(uint64_t word, const Instruction &at, const Warp &warp,
              uint64_t step);

private:
  struct Look {
    const Instruction *at;
    const Warp *warp;
    uint64_t step;
    bool told;
  };
  std::unordered_map<uint64_t, Look> looks;
};

} // namespace act::runtime::sim
#endif
