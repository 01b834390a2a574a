// SPDX-License-Identifier: Apache-2.0
//
// Which registers of a frame are defined.
//
// A lane of a register is defined (all its bits were computed from defined
// values), wholly undefined, or partly undefined. Usually a bit per lane
// suffices. But compilers fill words with registers that were never written and
// mask the result afterwards (LLVM packs bytes this way). For those, a side map
// holds the undefined bits:
//
//     prmt.b32 %r3, %r1, %r2, 0x5410;   %r2 never written: bits 16 to 31
//     and.b32  %r4, %r3, 65535;         of %r3 are undefined, none of %r4
//
// Slots are byte offsets, multiples of 64 (Program.h). No bits are kept for a
// .b128 register.
//
// Each undefined lane has an origin: the slot of a register that was never
// written, or an odd number for an entry of Origins.
#ifndef ACT_RUNTIME_SIM_EXECUTE_DEFINEDNESS_H
#define ACT_RUNTIME_SIM_EXECUTE_DEFINEDNESS_H
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace act::runtime::sim {

class Definedness {
public:
  static bool isSlot(uint32_t origin) { return !(origin & 1); }
  /// Conversion from a number in Origins, and back.
  static uint32_t fromNumber(uint32_t number) { return number << 1 | 1; }
  static uint32_t numberOf(uint32_t origin) { return origin >> 1; }

  /// Makes slots below `undefinedBytes` undefined, and those from there to
  /// `bytes` defined.
  void reset(uint32_t bytes, uint32_t undefinedBytes);
  /// Lanes that are wholly defined.
  uint32_t lanes(uint32_t slot) const { return whole[slot / 64]; }
  void define(uint32_t slot, uint32_t lanes) { whole[slot / 64] |= lanes; }
  /// Makes these lanes wholly undefined.
  void undefine(uint32_t slot, uint32_t lanes, uint32_t origin);
  /// Undefined bits of a lane.
  uint64_t undefinedBits(uint32_t slot, unsigned lane) const;
  void setUndefinedBits(uint32_t slot, unsigned lane, uint64_t bits,
                        uint32_t origin);
  /// Those of `lanes` in which one of `bits` is undefined.
  uint32_t undefinedLanes(uint32_t slot, uint32_t lanes, uint64_t bits) const;
  /// The origin of an undefined lane: the register itself, or a source that it
  /// was computed from.
  uint32_t origin(uint32_t slot, unsigned lane) const;
  /// Copies the state of lanes from a slot of another frame.
  void copy(uint32_t slot, uint32_t lanes, const Definedness &from,
            uint32_t fromSlot);

private:
  struct Some {
    // Valid for lanes that `whole` marks as undefined.
    std::array<uint64_t, 32> bits;
    std::array<uint32_t, 32> origins;
  };
  std::vector<uint32_t> whole;              // by slot / 64: a bit per lane
  std::unordered_map<uint32_t, Some> parts; // by slot; absent: all bits
  Some &some(uint32_t slot);
};

} // namespace act::runtime::sim
#endif
