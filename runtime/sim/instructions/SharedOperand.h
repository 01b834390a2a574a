// SPDX-License-Identifier: Apache-2.0
//
// Reads wgmma operands in shared memory into the layout that mma has in
// registers.
//
// Eight rows of A, or columns of B, times 256 bits along K are 16 chunks of 16
// bytes (SharedDescriptor.h). They fill two registers of a tile
// (ProductTile.h):
//
//     K-major    chunk (s, g): 16 bytes along K of row g, so the four lanes of
//                group g in register s
//     MN-major   chunk k: eight rows of one k, 16-bit elements
//
// The four warps of a warpgroup read the same B one after the other, often many
// times. It is fetched each time, but unpacked only if it has changed.
#ifndef ACT_RUNTIME_SIM_INSTRUCTIONS_SHAREDOPERAND_H
#define ACT_RUNTIME_SIM_INSTRUCTIONS_SHAREDOPERAND_H
#include "runtime/sim/arithmetic/ProductTile.h"
#include "runtime/sim/execute/Machine.h"
#include "runtime/sim/layout/SharedDescriptor.h"
#include <memory>
#include <vector>

namespace act::runtime::sim {

/// The positions of the chunks of groups of eight rows.
struct SharedPlaces {
  static constexpr unsigned perGroup = 16;
  static constexpr uint32_t outside = ~uint32_t(0);
  bool mnMajor = false;
  std::vector<uint32_t> offsets; // perGroup for each, in the order above
  std::vector<std::pair<uint32_t, uint32_t>>
      stretches;                   // [begin, end) of their union, ascending
  uint32_t firstOutside = outside; // a chunk that is not in shared memory
  unsigned wavefronts = 0, conflicts = 0; // eight chunks at a time (Sectors.h)
  unsigned groups() const { return unsigned(offsets.size() / perGroup); }

  /// For groups first, first + 1, ... of an operand. Cached.
  static std::shared_ptr<const SharedPlaces> of(uint64_t descriptor,
                                                bool mnMajor, unsigned first,
                                                unsigned groups,
                                                uint64_t sharedBytes);
  /// The two registers of a group.
  void fetch(const std::byte *shared, unsigned group, uint32_t (&low)[32],
             uint32_t (&high)[32]) const;
};

/// B, unpacked. `flip`: bits to invert in each word.
using RightOperand = std::vector<RightTile>;
std::shared_ptr<const RightOperand> rightOperand(const SharedPlaces &places,
                                                 const std::byte *shared,
                                                 Element type, unsigned k,
                                                 uint32_t flip);

} // namespace act::runtime::sim
#endif
