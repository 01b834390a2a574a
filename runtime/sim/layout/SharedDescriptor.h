// SPDX-License-Identifier: Apache-2.0
//
// The 64-bit descriptors through which wgmma finds a matrix in shared memory.
//
//     bits     field
//      0..13   address of the first byte          >> 4
//     16..29   leading byte offset (LBO)          >> 4
//     32..45   stride byte offset (SBO)           >> 4
//     49..51   base offset: line in which the swizzle pattern starts
//     62..63   swizzle: 0 none, 1 128 B, 2 64 B, 3 32 B
//
// A matrix is made of 16-byte chunks: T = 16 / element bytes neighbours along
// its major dimension. Let `major` number the chunks along it and `minor` the
// elements along the other one; S is the swizzle's row length in bytes. Before
// swizzling a chunk stands at
//
//     K-major   (major along K, minor along M or N)
//       none      minor % 8 * 16 + minor / 8 * SBO + major * LBO
//       swizzled  minor % 8 * S  + minor / 8 * SBO + major * 16
//     MN-major  (major along M or N, minor along K)
//       none      minor % 8 * 16 + minor / 8 * LBO + major * SBO
//       swizzled  minor % 8 * S  + minor / 8 * SBO
//                 + major % (S/16) * 16 + major / (S/16) * LBO
//
// from the descriptor's address. The swizzle is then applied to the sum. It
// acts on address bits, so a descriptor may start inside a pattern (kernels
// step along K by adding to the address).
#ifndef ACT_RUNTIME_SIM_LAYOUT_SHAREDDESCRIPTOR_H
#define ACT_RUNTIME_SIM_LAYOUT_SHAREDDESCRIPTOR_H
#include "runtime/sim/layout/Swizzle.h"

namespace act::runtime::sim {

struct SharedDescriptor {
  uint32_t address = 0; // in the CTA's shared memory, bytes
  uint32_t leading = 0, stride = 0;
  uint8_t baseOffset = 0;
  Swizzle swizzle = Swizzle::None;

  static SharedDescriptor unpack(uint64_t bits);
  uint64_t pack() const;
  /// The shared address of chunk (major, minor).
  uint32_t chunk(bool mnMajor, uint32_t major, uint32_t minor) const;
};

} // namespace act::runtime::sim
#endif
