// SPDX-License-Identifier: Apache-2.0
//
// What has to move so that a value held in one layout is held in another: the
// composition of the second, as a function from holders to coordinates, with
// the inverse of the first.
//
//   Nothing    the same registers of the same threads
//   Registers  each thread keeps what it has and only renames registers
//   Shuffle    lanes of a warp exchange values
//   Shared     values change warps, or in ways that have no schedule here:
//              through shared memory (Shared.h, choose())
//
// Lanes and warps hold the same if and only if their digits are the same (both
// lists are canonical), which decides the first two. Warps that hold the same,
// with lanes that differ, shuffle.
//
// The schedule. Lanes are 32, so their digits can be cut into five bits in both
// layouts. A bit of the block, which is a stride along a dimension, is
//
//   z  a lane bit in both (perhaps another one),
//   x  a lane bit in `from`, and in a register's number in `to`,
//   y  a register bit in `from`, and a lane bit in `to`,
//
// and the rest of a register's number is the same on both sides. A thread that
// collects its register with bits x has to ask the lane whose bits are x, and
// this lane has to offer the register with the asker's y. All lanes ask at
// once, in 2^k steps t = 0, 1, .. for k bits x: the lane with bits y asks for
// x = y ^ t. Then the lane with bits x is asked by the lane with y = x ^ t
// only, and knows it: no step has a conflict. Step 0 often asks no one but
// oneself.
//
//   from  register [2:(1)] lane [2:(2), 16:(4)]      lane 0: 0 1   lane 1: 2 3
//   to    register [2:(2)] lane [2:(1), 16:(4)]      lane 0: 0 2   lane 1: 1 3
//   Stride 2 is x, stride 1 is y. Step 0: lane 0 keeps its register 0, lane 1
//   its register 1. Step 1: lane 0 offers register 1, lane 1 register 0, and
//   each keeps what it is given in the register that it gave away. So one
//   shfl.bfly for two registers.
//
// Lane bits that hold copies take the place of an x or y that is missing:
// copies of `from` are sources to choose from, copies of `to` ask for the same.
//
// Values that are narrower than 32 bits and stay together (`width` registers,
// which hold 32 bits at most) move together.
//
// A value can be broadcast on the way: where `from` has extent 1, `to` may have
// any.
#ifndef ACT_LAYOUT_CONVERSION_H
#define ACT_LAYOUT_CONVERSION_H
#include "act/Layout/Distributed.h"
#include <array>

namespace act::layout {

struct Conversion {
  enum class Kind { Nothing, Registers, Shuffle, Shared };

  /// All lanes at once, each from its own point of view: offer registers from
  /// offers[lane] on, take what the lane takesFrom[lane] offers, and keep it as
  /// registers from keepsAs[lane] on of the result; `width` registers each.
  struct Step {
    std::array<int32_t, 32> offers, takesFrom, keepsAs;
    /// takesFrom[lane] is place(lane) ^ flip.
    int32_t flip = 0;
    /// Every lane takes from itself: no instruction.
    bool isLocal = false;
  };

  /// Fails unless the shapes are equal, or `from` is 1 where they are not.
  static Result<Conversion> get(const Distributed &from, const Distributed &to,
                                int64_t elementBytes);

  Kind kind = Kind::Nothing;
  /// Every lane has what it needs.
  bool keepsLanes() const {
    return kind == Kind::Nothing || kind == Kind::Registers;
  }
  /// Nothing, Registers: register i of the result is this register.
  std::vector<int64_t> table;

  // Shuffle only.
  int64_t elementBytes = 0;
  /// Lanes of `to` that hold different values: 32, or less with copies.
  int64_t lanes = 32;
  int64_t width = 1;
  std::vector<Step> steps;
  /// Register i of the result is a copy of register original[i] of it; the
  /// steps fill those that are their own original.
  std::vector<int64_t> original;
  /// The lane that bit b of the asking lane contributes: takesFrom is the
  /// exclusive or of image[b] over the set bits, and of flip. With image[b] ==
  /// 1 << b this is shfl.bfly, or else shfl.idx.
  std::array<int32_t, 5> image{};
  /// Which bits of the lane offers and keepsAs depend on; none: no select.
  int32_t offerBits = 0, keepBits = 0;

  int32_t place(int32_t lane) const;
  bool isButterfly() const;
  /// Steps that are an instruction (two for elements of 8 bytes).
  int64_t shuffles() const;
  /// Whether shuffles take less of a multiprocessor's time than stores to
  /// shared memory, a barrier and loads. A warp's cycles: 1 for a shuffle, 1/2
  /// for a select; through shared memory 1 for 32 words that are stored, 1 for
  /// 32 that are loaded (but 4 words of a thread are 1 at least, when lanes
  /// hold copies), and 32 for the barrier. False for the other kinds.
  bool shuffleIsCheaper() const;
};

const char *name(Conversion::Kind kind);

} // namespace act::layout
#endif
