// SPDX-License-Identifier: Apache-2.0
//
// The bookkeeping of CtaOrder.h: who is known to have begun, and what a word
// held before others wrote it.
#include "runtime/sim/execute/CtaOrder.h"
#include "runtime/sim/program/Program.h"
#include <cstring>

namespace act::runtime::sim {

namespace {

// A loop that looks again within so many steps waits.
constexpr uint64_t nearSteps = 4 * longestPollingLoop;

} // namespace

void Begun::add(uint32_t cluster) {
  if (words.size() <= cluster / 64)
    words.resize(cluster / 64 + 1);
  words[cluster / 64] |= uint64_t(1) << cluster % 64;
}

void Begun::add(const Begun &other) {
  if (words.size() < other.words.size())
    words.resize(other.words.size());
  for (size_t i = 0; i < other.words.size(); ++i)
    words[i] |= other.words[i];
}

void WordHistory::write(uint32_t cluster, const Begun &heard,
                        const std::byte *before, unsigned bytes,
                        bool modifies) {
  if (bytes > sizeof(Turn::before) || turns.size() == maximumTurns)
    tooMany = true;
  if (!tooMany && (turns.empty() || turns.back().cluster != cluster)) {
    Turn turn{cluster, bytes, {}};
    std::memcpy(turn.before, before, bytes);
    turns.push_back(turn);
  }
  if (!modifies)
    begun = Begun();
  begun.add(heard);
  begun.add(cluster);
}

const std::byte *WordHistory::before(uint32_t cluster, const Begun &heard,
                                     unsigned bytes) const {
  if (tooMany)
    return nullptr;
  for (const Turn &turn : turns)
    if (turn.cluster != cluster && !heard.has(turn.cluster))
      return turn.bytes == bytes ? turn.before : nullptr;
  return nullptr;
}

// The first look at a word gets its old value. If the same instruction looks
// again soon, the program loops until the word changes, so it waits. Anything
// else gets the real value, and the word is left alone from then on.
Looks::Answer Looks::look(uint64_t word, const Instruction &at,
                          const Warp &warp, uint64_t step) {
  auto [it, isFirst] = looks.try_emplace(word, Look{&at, &warp, step, false});
  Look &l = it->second;
  if (isFirst)
    return Answer::Before;
  if (l.at != &at || l.warp != &warp || l.told)
    return Answer::Real;
  if (l.step == step)
    return Answer::Before; // the next lane
  l.told = true;
  return step > l.step && step - l.step <= nearSteps ? Answer::Waits
                                                     : Answer::Real;
}

} // namespace act::runtime::sim
