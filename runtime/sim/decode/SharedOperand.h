// SPDX-License-Identifier: Apache-2.0
//
// Operands of wgmma in shared memory, as mma has them in registers.
//
// 256 bits along K of eight rows of A, or columns of B, are 16 chunks of 16
// bytes (SharedDescriptor.h). They fill two registers of a tile
// (ProductTile.h):
//
//     K-major    chunk (s, g): 16 bytes along K of row g, so the four lanes of
//                group g in register s
//     MN-major   chunk k: eight rows of one k, an element of 16 bits each
//
// The four warps of a warpgroup read the same B one after the other, and often
// many times: it is fetched each time, and taken apart when it is another than
// before.
#ifndef ACT_RUNTIME_SIM_DECODE_SHAREDOPERAND_H
#define ACT_RUNTIME_SIM_DECODE_SHAREDOPERAND_H
#include "runtime/sim/Machine.h"
#include "runtime/sim/ProductTile.h"
#include "runtime/sim/SharedDescriptor.h"
#include <memory>
#include <vector>

namespace act::runtime::sim {

/// Where the chunks of groups of eight rows are.
struct SharedPlaces {
  static constexpr unsigned perGroup = 16;
  static constexpr uint32_t outside = ~uint32_t(0);
  bool mnMajor = false;
  std::vector<uint32_t> offsets; // perGroup for each, in the order above
  std::vector<std::pair<uint32_t, uint32_t>>
      stretches;                   // that they make up, ascending
  uint32_t firstOutside = outside; // a chunk that is not in shared memory
  unsigned wavefronts = 0, conflicts = 0; // eight chunks at a time (Sectors.h)
  unsigned groups() const { return unsigned(offsets.size() / perGroup); }

  /// Of groups first, first + 1, ... of an operand. Remembered.
  static std::shared_ptr<const SharedPlaces> of(uint64_t descriptor,
                                                bool mnMajor, unsigned first,
                                                unsigned groups,
                                                uint64_t sharedBytes);
  /// The two registers of a group.
  void fetch(const std::byte *shared, unsigned group, uint32_t (&low)[32],
             uint32_t (&high)[32]) const;
};

/// B, taken apart. `flip`: bits of each word that are inverted.
using RightOperand = std::vector<RightTile>;
std::shared_ptr<const RightOperand> rightOperand(const SharedPlaces &places,
                                                 const std::byte *shared,
                                                 Element type, unsigned k,
                                                 uint32_t flip);

} // namespace act::runtime::sim
#endif
