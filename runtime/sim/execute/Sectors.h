// SPDX-License-Identifier: Apache-2.0
//
// The cost of a warp's access: sectors of 32 bytes in global memory, wavefronts
// in shared memory (32 banks of 4 bytes; different words of one bank are served
// in turn; 8- and 16-byte accesses go in 2 and 4 groups of lanes).
#ifndef ACT_RUNTIME_SIM_EXECUTE_SECTORS_H
#define ACT_RUNTIME_SIM_EXECUTE_SECTORS_H
#include "runtime/sim/execute/Machine.h"

namespace act::runtime::sim {

class Sectors {
public:
  void add(const Context::Target &target, uint64_t address, unsigned bytes) {
    if (!target.region)
      return;
    shared = target.region->isShared;
    at[lanes] = shared ? target.offset : address;
    size = bytes;
    ++lanes;
  }
  /// Adds what was collected to the counters.
  void count(Counters &counters, bool isStore);

  /// Counts an access by the lanes of `mask`, each at its offset in `region`.
  static void count(Counters &counters, const Region &region,
                    const uint64_t (&offsets)[32], uint32_t mask,
                    unsigned bytes, bool isStore);

private:
  /// `base` is added to the offsets.
  static void count(Counters &counters, const uint64_t *offsets, unsigned lanes,
                    unsigned size, uint64_t base, bool shared, bool isStore);
  uint64_t at[32];
  unsigned lanes = 0, size = 0;
  bool shared = false;
};

/// Whether 32 accesses of `bytes` at these offsets, a power of two up to 16,
/// take the least wavefronts and use every bank in each.
bool fillsWavefronts(const uint64_t *offsets, unsigned bytes);
/// Wavefronts for `count` accesses of `bytes` at these offsets.
unsigned wavefronts(const uint64_t *offsets, unsigned count, unsigned bytes);

} // namespace act::runtime::sim
#endif
