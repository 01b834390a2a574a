// SPDX-License-Identifier: Apache-2.0
//
// Assigns slots to the registers, constants and specials of a function.
#ifndef ACT_RUNTIME_SIM_DECODE_FRAMELAYOUT_H
#define ACT_RUNTIME_SIM_DECODE_FRAMELAYOUT_H
#include "runtime/sim/program/Program.h"
#include <map>
#include <tuple>

namespace act::runtime::sim {

/// Bytes per lane of a register of this type: 0 for predicates, 2 for all types
/// below 32 bits.
inline unsigned slotBytes(ptx::Type type) {
  if (type == ptx::Type::Pred)
    return 0;
  unsigned bytes = ptx::bytesOf(type);
  return bytes == 1 ? 2 : bytes;
}

struct FrameLayout {
  explicit FrameLayout(const ptx::Function &function);
  uint32_t registerSlot(uint32_t index) const { return slots[index]; }
  uint32_t constant(uint64_t bits, unsigned bytes);
  uint32_t special(Special which, unsigned bytes, uint64_t addend);
  uint32_t scratch(unsigned bytes);
  /// Moves the collected layout into `code`.
  void finish(FunctionCode &code);

private:
  std::vector<uint32_t> slots;
  uint32_t registerBytes = 0, end = 0;
  std::map<std::pair<uint64_t, unsigned>, uint32_t> constants;
  std::map<std::tuple<Special, unsigned, uint64_t>, uint32_t> specials;
  uint32_t grow(unsigned bytes);
};

} // namespace act::runtime::sim
#endif
