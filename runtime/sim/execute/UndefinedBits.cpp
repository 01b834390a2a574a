// SPDX-License-Identifier: Apache-2.0
//
// Undefined registers: reports of those that are used, and propagation to
// results, bit by bit where the instruction moves bits.
#include "runtime/sim/execute/UndefinedBits.h"
#include <algorithm>
#include <cstring>

namespace act::runtime::sim {

namespace {

// With more undefined sources, the result is wholly undefined: trials double
// with each source.
constexpr unsigned maximumVaried = 4;

uint64_t bitsOf(unsigned bytes) {
  return bytes < 8 ? (uint64_t(1) << 8 * bytes) - 1 : ~uint64_t(0);
}

uint64_t laneOf(const Context &c, const SlotUse &use, unsigned lane) {
  uint64_t value = 0;
  std::memcpy(&value, c.frame.registers + use.slot + lane * use.bytes,
              use.bytes);
  return value;
}

/// Saves and restores the registers of some slots.
class Kept {
public:
  void keep(const Context &c, const SlotUse &use) {
    const std::byte *from = c.frame.registers + use.slot;
    slots.push_back({use.slot, {from, from + 32 * use.bytes}});
  }
  void restore(const Context &c) const {
    for (auto &[slot, bytes] : slots)
      std::copy(bytes.begin(), bytes.end(), c.frame.registers + slot);
  }

private:
  std::vector<std::pair<uint32_t, std::vector<std::byte>>> slots;
};

using Bits = std::array<uint64_t, 32>;

// The undefined bits of each lane of a result. Runs the instruction with zeros
// and with ones for the undefined bits of each source, in all combinations of
// sources; a result bit that varies is undefined.
std::vector<Bits> byTrial(Context &c, const Instruction &i,
                          const std::vector<SlotUse> &varied) {
  Kept kept;
  for (const SlotUse &use : varied)
    kept.keep(c, use);
  for (unsigned w = 0; w < i.writeCount; ++w)
    kept.keep(c, i.writes[w]);
  std::vector<Bits> zeros(i.writeCount, Bits{}), ones = zeros;
  for (unsigned trial = 0; trial < 1u << varied.size(); ++trial) {
    kept.restore(c);
    for (unsigned k = 0; k < varied.size(); ++k)
      for (unsigned lane = 0; lane < 32; ++lane) {
        uint64_t value = laneOf(c, varied[k], lane),
                 bits = c.frame.defined.undefinedBits(varied[k].slot, lane);
        value = trial >> k & 1 ? value | bits : value & ~bits;
        std::memcpy(c.frame.registers + varied[k].slot + lane * varied[k].bytes,
                    &value, varied[k].bytes);
      }
    i.run(c, i);
    for (unsigned w = 0; w < i.writeCount; ++w)
      for (unsigned lane = 0; lane < 32; ++lane) {
        uint64_t result = laneOf(c, i.writes[w], lane);
        ones[w][lane] |= result;
        zeros[w][lane] |= ~result;
      }
  }
  kept.restore(c);
  for (unsigned w = 0; w < i.writeCount; ++w)
    for (unsigned lane = 0; lane < 32; ++lane)
      ones[w][lane] &= zeros[w][lane];
  return ones;
}

// All bits from the lowest undefined bit of a source up (flagUpward).
Bits upward(const Context &c, const Instruction &i, uint32_t lanes) {
  Bits bits{};
  for (; lanes; lanes &= lanes - 1) {
    unsigned lane = unsigned(__builtin_ctz(lanes));
    uint64_t of = 0;
    for (unsigned k = 0; k < i.readCount; ++k)
      of |= c.frame.defined.undefinedBits(i.reads[k].slot, lane) &
            i.reads[k].usedBits();
    bits[lane] = -(of & -of);
  }
  return bits;
}

} // namespace

void reportUndefined(Context &c, const Instruction &i) {
  for (unsigned k = 0; k < i.readCount; ++k) {
    const SlotUse &use = i.reads[k];
    uint32_t bad =
        c.frame.defined.undefinedLanes(use.slot, c.mask, use.usedBits());
    if (!bad)
      continue;
    if (use.passes && c.grid.passesUndefined) {
      c.passes = true;
      continue;
    }
    unsigned lane = unsigned(__builtin_ctz(bad));
    c.report(FindingKind::Uninitialised, i, lane,
             "uses " + c.neverWritten(use.slot, lane));
    c.define(use.slot, bad);
  }
}

void propagateUndefined(Context &c, const Instruction &i, uint32_t some) {
  const Definedness &defined = c.frame.defined;
  uint32_t bad = 0, lost = 0;
  std::array<uint32_t, 32> origins;
  std::vector<SlotUse> varied;
  for (unsigned k = 0; k < i.readCount; ++k) {
    const SlotUse &use = i.reads[k];
    uint32_t lanes = defined.undefinedLanes(use.slot, some, use.usedBits());
    if (!lanes)
      continue;
    for (uint32_t left = lanes & ~bad; left; left &= left - 1) {
      unsigned lane = unsigned(__builtin_ctz(left));
      origins[lane] = c.originOf(use.slot, lane);
    }
    bad |= lanes;
    if (use.selects)
      lost |= lanes;
    else if (std::none_of(varied.begin(), varied.end(),
                          [&](auto &v) { return v.slot == use.slot; }))
      varied.push_back(use);
  }
  if (!(i.flags & (flagByBits | flagUpward)) || varied.size() > maximumVaried)
    lost = bad;
  std::vector<Bits> bits(i.writeCount);
  if (bad & ~lost)
    bits = i.flags & flagUpward
               ? std::vector<Bits>(i.writeCount, upward(c, i, bad & ~lost))
               : byTrial(c, i, varied);
  for (unsigned k = 0; k < i.writeCount; ++k) {
    const SlotUse &use = i.writes[k];
    c.define(use.slot, c.mask & ~bad);
    for (uint32_t left = bad; left; left &= left - 1) {
      unsigned lane = unsigned(__builtin_ctz(left));
      c.frame.defined.setUndefinedBits(
          use.slot, lane,
          lost >> lane & 1 ? ~uint64_t(0) : bits[k][lane] & bitsOf(use.bytes),
          origins[lane]);
    }
  }
}

} // namespace act::runtime::sim
