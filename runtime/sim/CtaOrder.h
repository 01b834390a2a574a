// SPDX-License-Identifier: Apache-2.0
//
// Whether a CTA waits for one that need not have begun: on a card with less
// room it would wait for ever.
//
// What a strong read returns proves that its writer has begun, and so has
// whoever that one had heard of. The rest may begin later, and if the simulator
// ran them first, a wait for them passes at the first look. So the first look
// of a loop that only looks gets what the word held before any of those wrote
// it, as if they had not begun, which nothing forbids. A loop that then looks
// again waits for them.
//
//     flag            0, then 1 by cluster 3
//     cluster 5       ld.acquire [flag] → 0: it has heard nothing of cluster 3
//                     ld.acquire [flag]: once more, a finding → 1
//
// Who took a ticket from a counter has read what the earlier ones left there,
// and may wait for them.
#ifndef ACT_RUNTIME_SIM_CTAORDER_H
#define ACT_RUNTIME_SIM_CTAORDER_H
#include "runtime/sim/ptx/Ast.h"
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace act::runtime::sim {

struct Context;
struct Instruction;
class Warp;

/// Clusters of which it is proven that they have begun.
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

/// Of a word of global memory: who wrote it, and what was there before each.
/// It is of one launch: another one's write begins a new history, since nothing
/// says in which order launches begin.
class WordHistory {
public:
  /// Whose history it is, by its first CTA.
  uint32_t launch = ~uint32_t(0);
  /// Of a read-modify-write, which leaves what it read in what it writes, or of
  /// a store.
  void write(uint32_t cluster, const Begun &heard, const std::byte *before,
             unsigned bytes, bool modifies);
  const Begun &proof() const { return begun; }
  /// What `bytes` held before the first who is neither `cluster` nor in
  /// `heard`; null when there is none, or it is not known any more.
  const std::byte *before(uint32_t cluster, const Begun &heard,
                          unsigned bytes) const;

private:
  static constexpr size_t maximumTurns = 64;
  struct Turn {
    uint32_t cluster, bytes;
    std::byte before[8];
  };
  std::vector<Turn> turns; // writes of one after the other are one
  Begun begun;
  bool tooMany = false;
};

/// A cluster's looks at words whose writers need not have begun.
class Looks {
public:
  enum class Answer : uint8_t { Real, Before, Waits };
  /// A look at `word`, the same instruction for all lanes. Before: the first,
  /// which gets what was there before. Waits: it looks again, for the first
  /// time.
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

/// Instructions of loops that do nothing but look, as indices.
std::vector<uint32_t> looksOf(const ptx::Function &function);

} // namespace act::runtime::sim
#endif
