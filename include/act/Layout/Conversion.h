// SPDX-License-Identifier: Apache-2.0
//
// Conversion of a value from one layout to another: the second layout, as a
// function from holders to coordinates, composed with the inverse of the first.
//
//   Nothing    the same registers of the same threads
//   Registers  each thread keeps what it has and only renames registers
//   Shuffle    lanes of a warp exchange values
//   Shared     values change warps, or there is no shuffle schedule: through
//              shared memory (Shared.h, choose())
//
// Lanes and warps hold the same if and only if their digits are the same (both
// lists are canonical), which decides the first two. If warps hold the same but
// lanes differ, the lanes shuffle.
//
// The schedule. There are 32 lanes, so both layouts' lane digits split into
// five bits. A bit of the block, which is a stride along a dimension, is
//
//   z  a lane bit in both (perhaps another one),
//   x  a lane bit in `from`, and in a register's number in `to`,
//   y  a register bit in `from`, and a lane bit in `to`,
//
// and the rest of a register's number is the same on both sides. A thread gets
// its register with bits x from the lane whose bits are x, and that lane has to
// offer its register with the receiver's y. All lanes read at once, in 2^k
// steps t = 0, 1, .. for k bits x: the lane with bits y reads x = y ^ t. Then
// only the lane with y = x ^ t reads from the lane with bits x, which knows it:
// no step has a conflict. In step 0 a lane often reads from itself.
//
//   from  register [2:(1)] lane [2:(2), 16:(4)]      lane 0: 0 1   lane 1: 2 3
//   to    register [2:(2)] lane [2:(1), 16:(4)]      lane 0: 0 2   lane 1: 1 3
//   Stride 2 is x, stride 1 is y. Step 0: lane 0 keeps its register 0, lane 1
//   its register 1. Step 1: lane 0 offers register 1, lane 1 register 0, and
//   each puts what it receives into the register that it gave away. So two
//   registers take one shfl.bfly.
//
// Lane bits that hold copies replace a missing x or y: copies of `from` are
// alternative sources, copies of `to` read the same value.
//
// Values narrower than 32 bits that stay together (`width` registers, at most
// 32 bits) move together.
//
// A conversion may broadcast: where `from` has extent 1, `to` may have any.
#ifndef ACT_LAYOUT_CONVERSION_H
#define ACT_LAYOUT_CONVERSION_H
#include "act/Layout/Distributed.h"
#include <array>

namespace act::layout {

struct Conversion {
  enum class Kind { Nothing, Registers, Shuffle, Shared };

  /// Every lane offers its `width` registers from offers[lane] on, takes what
  /// lane takesFrom[lane] offers, and stores it in the result's `width`
  /// registers from keepsAs[lane] on.
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
  /// Nothing, Registers: register i of the result is register table[i].
  std::vector<int64_t> table;

  // Shuffle only.
  int64_t elementBytes = 0;
  /// Lanes of `to` that hold different values: 32, or less with copies.
  int64_t lanes = 32;
  int64_t width = 1;
  std::vector<Step> steps;
  /// The result's register i is a copy of its register original[i]. The steps
  /// fill only registers that are their own original.
  std::vector<int64_t> original;
  /// takesFrom is flip, exclusive-ored with image[b] for each set bit b of the
  /// reading lane. If all image[b] == 1 << b this is shfl.bfly, else shfl.idx.
  std::array<int32_t, 5> image{};
  /// The bits of the lane that offers and keepsAs depend on; 0: no select.
  int32_t offerBits = 0, keepBits = 0;

  int32_t place(int32_t lane) const;
  bool isButterfly() const;
  /// Steps that are not local: one instruction each, two for elements of 8
  /// bytes.
  int64_t shuffles() const;
  /// Whether shuffles take less SM time than stores to shared memory, a barrier
  /// and loads. Cycles per warp: 1 for a shuffle, 1/2 for a select; through
  /// shared memory 1 per 32 words stored, 1 per 32 words loaded (if lanes hold
  /// copies, at least 1 per 4 words of a thread), and 32 for the barrier. False
  /// for the other kinds.
  bool shuffleIsCheaper() const;
};

const char *name(Conversion::Kind kind);

} // namespace act::layout
#endif
