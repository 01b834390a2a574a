// SPDX-License-Identifier: Apache-2.0
//
// Places and contents of wgmma operands. Both are cached per host thread:
// kernels use few descriptors, again and again.
#include "runtime/sim/instructions/SharedOperand.h"
#include "runtime/sim/execute/Sectors.h"
#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace act::runtime::sim {

namespace {

struct Question {
  uint64_t descriptor = 0, sharedBytes = 0;
  unsigned first = 0, groups = 0;
  bool mnMajor = false;
  bool operator==(const Question &o) const {
    return descriptor == o.descriptor && sharedBytes == o.sharedBytes &&
           first == o.first && groups == o.groups && mnMajor == o.mnMajor;
  }
};
struct HashQuestion {
  size_t operator()(const Question &q) const {
    return q.descriptor ^ q.sharedBytes << 16 ^ uint64_t(q.first) << 50 ^
           uint64_t(q.groups) << 56 ^ uint64_t(q.mnMajor) << 63;
  }
};

/// All chunks of the operand, and what derives from them alone: the stretches
/// to judge, wavefronts and conflicts.
SharedPlaces placesOf(const Question &q) {
  constexpr unsigned perGroup = SharedPlaces::perGroup;
  const auto descriptor = SharedDescriptor::unpack(q.descriptor);
  SharedPlaces r;
  r.mnMajor = q.mnMajor;
  r.offsets.reserve(q.groups * perGroup);
  for (unsigned group = q.first; group < q.first + q.groups; ++group)
    for (unsigned i = 0; i < perGroup; ++i) {
      uint32_t at = q.mnMajor
                        ? descriptor.chunk(true, group, i)
                        : descriptor.chunk(false, i / 8, group * 8 + i % 8);
      if (uint64_t(at) + 16 > q.sharedBytes) {
        r.firstOutside = std::min(r.firstOutside, at);
        at = SharedPlaces::outside;
      }
      r.offsets.push_back(at);
    }
  for (size_t i = 0; i < r.offsets.size(); i += 8) {
    uint64_t rows[8];
    std::copy_n(r.offsets.begin() + i, 8, rows);
    unsigned needed = wavefronts(rows, 8, 16);
    r.wavefronts += needed;
    r.conflicts += needed - 1;
  }
  std::vector<uint32_t> sorted = r.offsets;
  std::sort(sorted.begin(), sorted.end());
  for (uint32_t at : sorted) {
    if (at == SharedPlaces::outside)
      break;
    if (!r.stretches.empty() && at <= r.stretches.back().second)
      r.stretches.back().second = at + 16;
    else
      r.stretches.emplace_back(at, at + 16);
  }
  return r;
}

} // namespace

std::shared_ptr<const SharedPlaces>
SharedPlaces::of(uint64_t descriptor, bool mnMajor, unsigned first,
                 unsigned groups, uint64_t sharedBytes) {
  constexpr size_t most = 1024; // cached answers
  thread_local std::unordered_map<Question, std::shared_ptr<const SharedPlaces>,
                                  HashQuestion>
      answers;
  if (answers.size() >= most)
    answers.clear();
  auto &answer = answers[{descriptor, sharedBytes, first, groups, mnMajor}];
  if (!answer)
    answer = std::make_shared<const SharedPlaces>(
        placesOf({descriptor, sharedBytes, first, groups, mnMajor}));
  return answer;
}

void SharedPlaces::fetch(const std::byte *shared, unsigned group,
                         uint32_t (&low)[32], uint32_t (&high)[32]) const {
  static constexpr std::byte zeros[16] = {};
  const uint32_t *at = &offsets[group * perGroup];
  auto chunk = [&](unsigned i) {
    return at[i] == outside ? zeros : shared + at[i];
  };
  if (!mnMajor) {
    for (unsigned g = 0; g < 8; ++g) {
      std::memcpy(low + 4 * g, chunk(g), 16);
      std::memcpy(high + 4 * g, chunk(8 + g), 16);
    }
    return;
  }
  // Two neighbours along K share a word: transpose pairs of chunks.
  for (unsigned k = 0; k < 16; k += 2) {
    uint16_t even[8], odd[8];
    std::memcpy(even, chunk(k), 16);
    std::memcpy(odd, chunk(k + 1), 16);
    uint32_t *to = (k < 8 ? low : high) + k / 2 % 4;
    for (unsigned row = 0; row < 8; ++row)
      to[4 * row] = even[row] | uint32_t(odd[row]) << 16;
  }
}

/// Compares the fetched words with those that the cached operand was made of.
/// That is cheaper than to unpack them again, and needs no notice of writes.
std::shared_ptr<const RightOperand> rightOperand(const SharedPlaces &places,
                                                 const std::byte *shared,
                                                 Element type, unsigned k,
                                                 uint32_t flip) {
  constexpr unsigned slots = 64; // cached operands
  thread_local std::shared_ptr<RightOperand> recent[slots];
  const uint32_t key = places.offsets[0] / 32;
  auto &operand = recent[(key ^ key >> 6 ^ key >> 12) % slots];
  const unsigned count = places.groups();
  if (!operand || operand->size() != count)
    operand = std::make_shared<RightOperand>(count);
  for (unsigned i = 0; i < count; ++i) {
    alignas(64) uint32_t words[2][32];
    places.fetch(shared, i, words[0], words[1]);
    if (flip)
      for (auto &reg : words)
        for (uint32_t &word : reg)
          word ^= flip;
    const RightTile &before = (*operand)[i];
    if (before.registers && before.type == type && before.k == k &&
        std::memcmp(before.words, words, sizeof words) == 0)
      continue;
    if (operand.use_count() > 1) // a pending product still needs the old one
      operand = std::make_shared<RightOperand>(*operand);
    RightTile &tile = (*operand)[i];
    tile.type = type;
    tile.k = k;
    tile.registers = 2;
    std::memcpy(tile.words, words, sizeof words);
    takeApart(tile);
  }
  return operand;
}

} // namespace act::runtime::sim
