// SPDX-License-Identifier: Apache-2.0
//
// An address operand at run time: 32 addresses from a slot and an offset.
#ifndef ACT_RUNTIME_SIM_INSTRUCTIONS_ADDRESSLANES_H
#define ACT_RUNTIME_SIM_INSTRUCTIONS_ADDRESSLANES_H
#include "runtime/sim/decode/Decoder.h"
#include "runtime/sim/execute/Machine.h"

namespace act::runtime::sim {

struct Address {
  ptx::Space space = ptx::Space::Generic;
  uint32_t slot = noSlot;
  uint8_t bytes = 8;
  int64_t offset = 0;

  Address() = default;
  /// `said` is the space that the instruction names. Parameters of device
  /// functions and of calls lie in local memory.
  Address(Decoder &d, const AddressOperand &a, ptx::Space said)
      : space(said), slot(a.slot), bytes(a.bytes), offset(a.offset) {
    using ptx::Space;
    if (a.isNumber && said != Space::Local)
      d.fail("'" + d.tree().spelling() +
             "': only an address in .local can be a number");
    if (a.space == Space::Generic)
      return;
    // A symbol in a window of the generic space (.global, .shared, .local) is a
    // generic address; a parameter or constant is not.
    Space declared = a.isParameter ? Space::Param : a.space;
    bool matches = said == Space::Generic
                       ? declared != Space::Param && declared != Space::Const
                       : said == declared;
    if (!matches)
      d.fail("'" + d.tree().spelling() +
             "' addresses a variable of another state space");
    space = a.space;
  }

  /// Addresses in the state space. Ignore those of inactive lanes.
  void lanes(const Context &c, uint64_t (&out)[32]) const {
    if (bytes == 4) {
      const uint32_t *base = c.lanes<uint32_t>(slot);
      for (unsigned lane = 0; lane < 32; ++lane)
        out[lane] = uint32_t(base[lane] + uint32_t(offset));
    } else {
      const uint64_t *base = c.lanes<uint64_t>(slot);
      for (unsigned lane = 0; lane < 32; ++lane)
        out[lane] = base[lane] + uint64_t(offset);
    }
  }
};

} // namespace act::runtime::sim
#endif
