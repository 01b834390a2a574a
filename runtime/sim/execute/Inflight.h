// SPDX-License-Identifier: Apache-2.0
//
// The registers that pending wgmma use. In a frame that has executed a
// wgmma.fence, Frame::inflight has a word per register:
//
//     bits 0..39   group of the last wgmma that uses it, 0: none
//     bits 40..59  N of that wgmma (the same shape may accumulate again
//                  without a fence), 0 after a fence
//     bit 62       used as A, else as accumulator
//     bit 63       another instruction has used it since the last wgmma.fence
#ifndef ACT_RUNTIME_SIM_EXECUTE_INFLIGHT_H
#define ACT_RUNTIME_SIM_EXECUTE_INFLIGHT_H
#include "runtime/sim/execute/Machine.h"

namespace act::runtime::sim::inflight {

constexpr uint64_t groupMask = (uint64_t(1) << 40) - 1;
constexpr uint64_t asA = uint64_t(1) << 62, touched = uint64_t(1) << 63;
constexpr unsigned shapeShift = 40;
constexpr uint64_t shapeMask = uint64_t(0xfffff) << shapeShift;

/// A register's word in inflight; null if it has none.
inline uint64_t *wordOf(Frame &f, uint32_t slot) {
  return slot / 64 < f.inflight.size() ? &f.inflight[slot / 64] : nullptr;
}

} // namespace act::runtime::sim::inflight
#endif
