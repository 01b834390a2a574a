// SPDX-License-Identifier: Apache-2.0
//
// Live registers by the usual backward analysis over basic blocks.
#include "runtime/sim/decode/RegisterPressure.h"
#include "runtime/sim/program/ControlFlow.h"
#include <algorithm>
#include <set>

namespace act::runtime::sim {

namespace {

using Bits = std::vector<uint64_t>; // by slot / 64

struct Block {
  uint32_t begin, end; // instructions
  std::vector<uint32_t> next;
  Bits live; // at its start
};

// Walks backwards over a block; `visit` runs when `live` is the set before each
// instruction.
template <typename Visit>
void walk(const FunctionCode &code, const Block &b, Bits &live, Visit visit) {
  auto isRegister = [&](uint32_t slot) { return slot < code.registerBytes; };
  for (uint32_t k = b.end; k-- > b.begin;) {
    const Instruction &i = code.code[k];
    if (i.guard == noSlot)
      for (unsigned w = 0; w < i.writeCount; ++w)
        if (isRegister(i.writes[w].slot))
          live[i.writes[w].slot / 4096] &=
              ~(uint64_t(1) << i.writes[w].slot / 64 % 64);
    for (unsigned r = 0; r < i.readCount; ++r)
      if (isRegister(i.reads[r].slot))
        live[i.reads[r].slot / 4096] |= uint64_t(1)
                                        << i.reads[r].slot / 64 % 64;
    visit();
  }
}

} // namespace

uint32_t registerPressure(const ptx::Function &f, const FunctionCode &code) {
  uint32_t count = uint32_t(f.instructions.size());
  std::set<uint32_t> starts = {0};
  for (uint32_t k = 0; k < count; ++k) {
    Successors s = successors(f, k);
    starts.insert(s.targets.begin(), s.targets.end());
    if (!s.targets.empty() || !s.goesOn)
      starts.insert(k + 1);
  }
  std::vector<Block> blocks;
  std::vector<uint32_t> blockAt(count + 1, 0);
  size_t words = code.registerBytes / 4096 + 1;
  for (auto it = starts.begin(); it != starts.end() && *it < count; ++it) {
    uint32_t end =
        std::next(it) == starts.end() ? count : std::min(*std::next(it), count);
    blockAt[*it] = uint32_t(blocks.size());
    blocks.push_back({*it, end, {}, Bits(words)});
  }
  for (Block &b : blocks) {
    Successors s = successors(f, b.end - 1);
    for (uint32_t to : s.targets)
      if (to < count)
        b.next.push_back(blockAt[to]);
    if (s.goesOn && b.end < count)
      b.next.push_back(blockAt[b.end]);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = blocks.size(); k-- > 0;) {
      Bits live(words);
      for (uint32_t n : blocks[k].next)
        for (size_t w = 0; w < words; ++w)
          live[w] |= blocks[n].live[w];
      walk(code, blocks[k], live, [] {});
      if (live != blocks[k].live) {
        blocks[k].live = std::move(live);
        changed = true;
      }
    }
  }
  // The weight of a slot: its registers of 32 bits. Slot offsets are computed
  // as in FrameLayout.
  std::vector<uint32_t> weight(words * 64, 0);
  uint32_t slot = 0;
  for (const ptx::Register &r : f.registers) {
    unsigned bytes = r.type == ptx::Type::Pred ? 0 : ptx::bytesOf(r.type);
    weight[slot / 64] = bytes ? std::max(1u, bytes / 4) : 0;
    slot += bytes <= 2 ? 64 : 32 * bytes;
  }
  uint32_t most = 0;
  for (Block &b : blocks) {
    Bits live(words);
    for (uint32_t n : b.next)
      for (size_t w = 0; w < words; ++w)
        live[w] |= blocks[n].live[w];
    walk(code, b, live, [&] {
      uint32_t sum = 0;
      for (size_t w = 0; w < words; ++w)
        for (uint64_t bits = live[w]; bits; bits &= bits - 1)
          sum += weight[w * 64 + unsigned(__builtin_ctzll(bits))];
      most = std::max(most, sum);
    });
  }
  return std::max(most, 1u);
}

} // namespace act::runtime::sim
