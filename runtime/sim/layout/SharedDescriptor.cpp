// SPDX-License-Identifier: Apache-2.0
//
// wgmma's descriptors: their fields, and the place of a chunk.
#include "runtime/sim/layout/SharedDescriptor.h"

namespace act::runtime::sim {

// By the descriptor's field, whose values go down as rows grow: 1 is 128 B.
static constexpr Swizzle swizzles[4] = {Swizzle::None, Swizzle::B128,
                                        Swizzle::B64, Swizzle::B32};

static uint32_t field(uint64_t bits, unsigned at) {
  return uint32_t(bits >> at & 0x3fff) << 4;
}

SharedDescriptor SharedDescriptor::unpack(uint64_t bits) {
  SharedDescriptor d;
  d.address = field(bits, 0);
  d.leading = field(bits, 16);
  d.stride = field(bits, 32);
  d.baseOffset = bits >> 49 & 7;
  d.swizzle = swizzles[bits >> 62];
  return d;
}

uint64_t SharedDescriptor::pack() const {
  uint64_t mode = 0;
  while (swizzles[mode] != swizzle)
    ++mode;
  auto put = [](uint32_t v, unsigned at) {
    return uint64_t(v >> 4 & 0x3fff) << at;
  };
  return put(address, 0) | put(leading, 16) | put(stride, 32) |
         uint64_t(baseOffset & 7) << 49 | mode << 62;
}

uint32_t SharedDescriptor::chunk(bool mnMajor, uint32_t major,
                                 uint32_t minor) const {
  uint32_t inner = minor % 8 * rowBytes(swizzle), outer = minor / 8, offset;
  if (swizzle == Swizzle::None) {
    offset = mnMajor ? outer * leading + major * stride
                     : outer * stride + major * leading;
  } else {
    uint32_t perRow = rowBytes(swizzle) / 16;
    offset =
        outer * stride +
        (mnMajor ? major % perRow * 16 + major / perRow * leading : major * 16);
  }
  return swizzled(address + inner + offset, swizzle, baseOffset);
}

} // namespace act::runtime::sim
