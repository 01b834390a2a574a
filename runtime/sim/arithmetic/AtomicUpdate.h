// SPDX-License-Identifier: Apache-2.0
//
// The new memory value of an atomic operation: atom, red, and reducing copies.
#ifndef ACT_RUNTIME_SIM_ARITHMETIC_ATOMICUPDATE_H
#define ACT_RUNTIME_SIM_ARITHMETIC_ATOMICUPDATE_H
#include "runtime/sim/ptx/Ast.h"
#include <cstdint>

namespace act::runtime::sim {

enum class AtomicOp : uint8_t {
  And,
  Or,
  Xor,
  Cas,
  Exch,
  Add,
  Inc,
  Dec,
  Min,
  Max
};

struct AtomicUpdate {
  AtomicOp op = AtomicOp::Add;
  ptx::Type type = ptx::Type::B32;
  unsigned bytes = 4; // of the type
  bool ftz = false;   // f32: subnormals are zero, going in and coming out
  /// The new value of a word that holds `old`. cas stores `c` if it finds `b`.
  /// Words are in the low bits.
  uint64_t operator()(uint64_t old, uint64_t b, uint64_t c = 0) const;
  /// Whether it adds floats: their sum depends on the order.
  bool isFloatSum() const {
    using ptx::Type;
    return op == AtomicOp::Add &&
           (type == Type::F16 || type == Type::F16x2 || type == Type::BF16 ||
            type == Type::BF16x2 || type == Type::F32 || type == Type::F64);
  }
};

} // namespace act::runtime::sim
#endif
