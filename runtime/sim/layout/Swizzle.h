// SPDX-License-Identifier: Apache-2.0
//
// Swizzles of shared memory: the order of the 16-byte chunks of a row.
//
// Rows of 32, 64 or 128 bytes are stored with their chunks permuted, so that a
// column of chunks touches all banks. The permutation depends only on the
// address: bits of the 128-byte line number are XORed into the chunk number.
// TMA writes with it, wgmma reads with it.
//
//     address bits    9 8 7 | 6 5 4 | 3 2 1 0
//                     line    chunk   byte
//     128 B           chunk ^= line            (3 bits; repeats every 1024 B)
//     64 B            chunk ^= line & 3 of bits 8 7   (every 512 B)
//     32 B            chunk ^= line & 1 of bit 7      (every 256 B)
#ifndef ACT_RUNTIME_SIM_LAYOUT_SWIZZLE_H
#define ACT_RUNTIME_SIM_LAYOUT_SWIZZLE_H
#include <cstdint>

namespace act::runtime::sim {

enum class Swizzle : uint8_t { None, B32, B64, B128 };

/// Length of a row; of the whole pattern. 16 and 0 for None.
constexpr uint32_t rowBytes(Swizzle s) { return 16u << unsigned(s); }
constexpr uint32_t patternBytes(Swizzle s) {
  return s == Swizzle::None ? 0 : 128u << unsigned(s);
}

/// The physical address of the byte at `address`. `firstLine` is the line
/// (address bits 7 to 9) in which the pattern starts, for patterns that do not
/// start at a multiple of their length.
constexpr uint32_t swizzled(uint32_t address, Swizzle s,
                            uint32_t firstLine = 0) {
  uint32_t mask = (1u << unsigned(s)) - 1;
  return address ^ ((((address >> 7) - firstLine) & mask) << 4);
}

} // namespace act::runtime::sim
#endif
