// SPDX-License-Identifier: Apache-2.0
//
// The bookkeeping of CtaOrder.h: who is known to have begun, what a word held
// before others wrote it, and which loads are looks of a polling loop.
#include "runtime/sim/execute/CtaOrder.h"
#include "runtime/sim/program/ControlFlow.h"
#include <algorithm>
#include <cstring>

namespace act::runtime::sim {

namespace {

// Longer loops do more than poll.
constexpr uint32_t longestLoop = 64;
constexpr uint64_t nearSteps = 4 * longestLoop;

bool isOneOf(const std::vector<std::string> &words, const char *word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Whether it may change what other CTAs see. A compare-and-swap does not count:
// loops spin with it.
bool acts(const ptx::Instruction &i) {
  if (i.root == "st")
    return !isOneOf(i.modifiers, "shared") && !isOneOf(i.modifiers, "local") &&
           !isOneOf(i.modifiers, "param");
  if (i.root == "atom")
    return !isOneOf(i.modifiers, "cas");
  return i.root == "red" || i.root == "cp" || i.root == "call";
}

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

std::vector<uint32_t> looksOf(const ptx::Function &f) {
  std::vector<uint32_t> result;
  for (uint32_t end = 0; end < f.instructions.size(); ++end)
    for (uint32_t begin : successors(f, end).targets) {
      if (begin > end || end - begin > longestLoop)
        continue;
      auto first = f.instructions.begin() + begin,
           last = f.instructions.begin() + end;
      if (std::any_of(first, last, acts))
        continue;
      for (uint32_t i = begin; i < end; ++i)
        if (f.instructions[i].root == "ld")
          result.push_back(i);
    }
  return result;
}

} // namespace act::runtime::sim
