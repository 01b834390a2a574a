// SPDX-License-Identifier: Apache-2.0
//
// Moves data between the registers of a warp and the tiles that mma and wgmma
// multiply (ProductTile.h).
#ifndef ACT_RUNTIME_SIM_INSTRUCTIONS_TILEREGISTERS_H
#define ACT_RUNTIME_SIM_INSTRUCTIONS_TILEREGISTERS_H
#include "runtime/sim/arithmetic/ProductTile.h"
#include "runtime/sim/execute/Machine.h"

namespace act::runtime::sim {

/// Copies an operand's registers to words[0], words[step] ...; false if nothing
/// changed.
bool takeWords(const Frame &f, const uint32_t *slots, unsigned count,
               unsigned step, uint32_t (*words)[32]);
/// Copies an accumulator's registers to a tile's sums. With f16 (`half`) two
/// sums share a register.
void takeSums(const Frame &f, const uint32_t *slots, unsigned count, bool half,
              TileSums &sums);
/// The reverse. `lanes`: those that may be written.
void putSums(const TileSums &sums, const uint32_t *slots, unsigned count,
             bool half, uint32_t lanes, Frame &f);

/// A cache of recently multiplied operands, unpacked. Kernels multiply the same
/// operand many times; comparing its registers shows whether it changed.
template <typename Tile> class RecentTiles {
public:
  /// `step`: as for takeWords().
  const Tile &of(const Frame &f, Element type, unsigned k,
                 const uint32_t *slots, unsigned count, unsigned step = 1) {
    Tile &e = entries[(slots[0] >> 7) * 0x9e3779b1u >> 28];
    const bool alike =
        e.type == type && e.k == k && e.registers == count * step;
    if (!takeWords(f, slots, count, step, e.words) && alike)
      return e;
    e.type = type;
    e.k = k;
    e.registers = count * step;
    takeApart(e);
    return e;
  }

private:
  Tile entries[16];
};

} // namespace act::runtime::sim
#endif
