// SPDX-License-Identifier: Apache-2.0
//
// Slots of a frame: registers first, then constants and special registers,
// which have the same value in every activation or get it at its start.
#include "runtime/sim/decode/FrameLayout.h"
#include <cstring>

namespace act::runtime::sim {

namespace {
uint32_t slotSize(unsigned bytes) { return bytes <= 2 ? 64 : 32 * bytes; }
} // namespace

FrameLayout::FrameLayout(const ptx::Function &function) {
  for (const ptx::Register &r : function.registers)
    slots.push_back(grow(slotBytes(r.type)));
  registerBytes = end;
}

uint32_t FrameLayout::grow(unsigned bytes) {
  uint32_t at = end;
  end += slotSize(bytes);
  return at;
}

uint32_t FrameLayout::scratch(unsigned bytes) { return grow(bytes); }

/// Equal constants of one width share a slot.
uint32_t FrameLayout::constant(uint64_t bits, unsigned bytes) {
  if (bytes == 0)
    bits = uint32_t(bits);
  else if (bytes < 8)
    bits &= (uint64_t(1) << 8 * bytes) - 1;
  auto [it, isNew] = constants.try_emplace({bits, bytes}, 0);
  if (isNew)
    it->second = grow(bytes);
  return it->second;
}

uint32_t FrameLayout::special(Special which, unsigned bytes, uint64_t addend) {
  auto [it, isNew] = specials.try_emplace({which, bytes, addend}, 0);
  if (isNew)
    it->second = grow(bytes);
  return it->second;
}

void FrameLayout::finish(FunctionCode &code) {
  code.registerBytes = registerBytes;
  code.frameBytes = end;
  code.registerSlots = slots;
  code.image.assign(end - registerBytes, std::byte(0));
  for (auto &[key, slot] : constants) {
    std::byte *at = code.image.data() + (slot - registerBytes);
    auto [bits, bytes] = key;
    if (bytes == 0)
      std::memcpy(at, &bits, 4);
    else
      for (unsigned lane = 0; lane < 32; ++lane)
        std::memcpy(at + lane * (bytes < 8 ? bytes : 8), &bits,
                    bytes < 8 ? bytes : 8);
  }
  for (auto &[key, slot] : specials) {
    auto [which, bytes, addend] = key;
    code.specials.push_back({slot, which, uint8_t(bytes), addend});
  }
}

} // namespace act::runtime::sim
