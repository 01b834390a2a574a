// SPDX-License-Identifier: Apache-2.0
//
// Which registers of a frame hold something.
//
// A register's lane is defined (all of its bits were computed from what was
// written), or it is not; then it is wholly undefined, or some bits of it are.
// The usual case is a bit per lane. Only where compilers fill words with
// registers that they never wrote, and mask the result afterwards (LLVM packs
// bytes so), are the undefined bits kept, in a map on the side:
//
//     prmt.b32 %r3, %r1, %r2, 0x5410;   %r2 never written: bits 16 to 31
//     and.b32  %r4, %r3, 65535;         of %r3 are undefined, none of %r4
//
// Slots are byte offsets, multiples of 64 (Program.h). Of a .b128 register no
// bits are kept.
//
// With each undefined lane goes its origin: the slot of a register that was
// never written, or an odd number, which stands for what is in Origins.
#ifndef ACT_RUNTIME_SIM_DEFINEDNESS_H
#define ACT_RUNTIME_SIM_DEFINEDNESS_H
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace act::runtime::sim {

class Definedness {
public:
  static bool isSlot(uint32_t origin) { return !(origin & 1); }
  /// Of a number in Origins, and back.
  static uint32_t fromNumber(uint32_t number) { return number << 1 | 1; }
  static uint32_t numberOf(uint32_t origin) { return origin >> 1; }

  /// Slots from 0 to `undefinedBytes` are undefined, those up to `bytes` are
  /// not.
  void reset(uint32_t bytes, uint32_t undefinedBytes);
  /// Lanes that are wholly defined.
  uint32_t lanes(uint32_t slot) const { return whole[slot / 64]; }
  void define(uint32_t slot, uint32_t lanes) { whole[slot / 64] |= lanes; }
  /// Nothing is left of these lanes.
  void undefine(uint32_t slot, uint32_t lanes, uint32_t origin);
  /// Undefined bits of a lane.
  uint64_t undefinedBits(uint32_t slot, unsigned lane) const;
  void setUndefinedBits(uint32_t slot, unsigned lane, uint64_t bits,
                        uint32_t origin);
  /// Lanes, of `lanes`, in which one of `bits` is undefined.
  uint32_t undefinedLanes(uint32_t slot, uint32_t lanes, uint64_t bits) const;
  /// What made a lane undefined: the register itself, or what it was computed
  /// from.
  uint32_t origin(uint32_t slot, unsigned lane) const;
  /// Lanes of a slot become those of another frame's.
  void copy(uint32_t slot, uint32_t lanes, const Definedness &from,
            uint32_t fromSlot);

private:
  struct Some {
    // Of lanes for which `whole` says so.
    std::array<uint64_t, 32> bits;
    std::array<uint32_t, 32> origins;
  };
  std::vector<uint32_t> whole;              // by slot / 64: a bit per lane
  std::unordered_map<uint32_t, Some> parts; // by slot; absent: all bits
  Some &some(uint32_t slot);
};

} // namespace act::runtime::sim
#endif
