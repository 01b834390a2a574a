// SPDX-License-Identifier: Apache-2.0
//
// Special registers: their names, and what they need.
#ifndef ACT_RUNTIME_SIM_DECODE_SPECIALS_H
#define ACT_RUNTIME_SIM_DECODE_SPECIALS_H
#include "runtime/sim/program/Special.h"
#include <string>

namespace act::runtime::sim {

/// A register such as "%tid.x": the widths it can be read at (a sum of bytes; 1
/// for a predicate), and the target and version that introduced it.
struct SpecialRegister {
  Special which;
  uint8_t widths = 4;
  uint32_t sm = 10, ptx10 = 10;
};
/// Null for unknown names and for changing registers.
const SpecialRegister *specialNamed(const std::string &name);
/// Changing ones: "%clock", "%clock_hi", "%clock64", "%globaltimer",
/// "%globaltimer_lo", "%globaltimer_hi", "%pm0" ...
bool isChangingSpecial(const std::string &name);

} // namespace act::runtime::sim
#endif
