// SPDX-License-Identifier: Apache-2.0
//
// Which thread holds which element of a block: a function from (register, lane,
// warp) to coordinates.
//
// A thread has a lane (0..31) and a warp, and numbers its registers. Each of
// the three numbers is written in mixed radix, first digit fastest, and each
// digit moves along the block by a stride:
//
//   shape    16 x 8                      the accumulator of mma.m16n8
//   register [2:(0,1), 2:(8,0)]          2 registers side by side, 2 eight
//   lane     [4:(0,2), 8:(1,0)]          rows apart; 4 lanes along a row,
//   warp     []                          8 of these below each other
//
//   lane 13 is 1 + 4 * 3, register 2 is 0 + 2 * 1:
//   (0,2) * 1 + (1,0) * 3 + (0,1) * 0 + (8,0) * 1 = (11,2)
//
//           column 0   1   2   3   4   5   6   7
//        row 0   L0r0 L0r1 L1r0 L1r1 L2r0 L2r1 L3r0 L3r1
//            1   L4r0 L4r1 L5r0  ...
//            8   L0r2 L0r3 L1r2  ...
//
// The coordinate is the plain sum over the digits, so only the lanes need to be
// a power of two: 80 columns are `10:(0,8)` over eight columns. A digit with
// strides of zero holds copies: `4:(0,0)` among the lanes means that four lanes
// hold the same.
//
// Invariant. Every coordinate of the shape is held exactly once, apart from
// copies. This has strong consequences. The block's generating function is the
// product of (1 + x + .. + x^(n-1)) over its dimensions, and a digit's is
// 1 + m + .. + m^(e-1) for a monomial m. A product of polynomials in single
// variables only has factors of that kind. So
//
//   1. each digit moves along one dimension only (or none), and
//   2. along a dimension, the digits of all three lists, sorted by stride, are
//      a mixed radix: the first stride is 1, the next is the extent of the
//      first, the next that times the extent of the second, .. up to the
//      dimension's extent.
//
// get() checks these two conditions, which is cheap, instead of every
// coordinate (the test counts coordinates). They also make the inverse a sum:
// holder() finds the holder of a coordinate dimension by dimension.
//
// The lists are kept in canonical form: no digit has extent 1, and a digit that
// continues its predecessor (`2:(0,1), 4:(0,2)`) is merged with it (`8:(0,1)`).
// Equal functions then have equal lists, so == compares functions.
#ifndef ACT_LAYOUT_DISTRIBUTED_H
#define ACT_LAYOUT_DISTRIBUTED_H
#include "act/Result.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace act::layout {

using Coordinates = std::vector<int64_t>;

struct Digit {
  int64_t extent = 1;
  std::vector<int64_t> strides; // one per dimension

  /// The dimension that it moves along; none for copies. Requires a verified
  /// layout.
  std::optional<unsigned> dimension() const;
  bool isCopy() const { return !dimension(); }
  /// The stride along its dimension, 0 for copies.
  int64_t stride() const;
  bool operator==(const Digit &o) const {
    return extent == o.extent && strides == o.strides;
  }
  bool operator!=(const Digit &o) const { return !(*this == o); }
  /// 8:(1,0)
  std::string str() const;
};
using Digits = std::vector<Digit>;

/// Product of the extents: the number of values of the list.
int64_t count(const Digits &digits);
/// [2:(0,1), 2:(8,0)]
std::string str(const Digits &digits);

struct Holder {
  int64_t reg = 0, lane = 0, warp = 0;
  bool operator==(const Holder &o) const {
    return reg == o.reg && lane == o.lane && warp == o.warp;
  }
};

/// How many registers of a thread, lanes of a warp, and warps hold each
/// coordinate.
struct Copies {
  int64_t registers = 1, lanes = 1, warps = 1;
  int64_t total() const { return registers * lanes * warps; }
};

class Distributed {
public:
  static constexpr int64_t laneCount = 32;
  static constexpr int64_t mostWarps = 32;         // 1024 threads
  static constexpr int64_t mostRegisters = 65'536; // a whole register file

  /// Fails unless the shape is positive, every digit has one stride per
  /// dimension and a positive extent, lanes multiply to 32 and the invariant
  /// holds. The message names the digit: "lane digit 1, `8:(2,0)`, ..".
  static Result<Distributed> get(std::vector<int64_t> shape, Digits registers,
                                 Digits lanes, Digits warps);

  const std::vector<int64_t> &shape() const { return extents; }
  unsigned rank() const { return extents.size(); }
  int64_t elementCount() const;
  const Digits &registers() const { return registerDigits; }
  const Digits &lanes() const { return laneDigits; }
  const Digits &warps() const { return warpDigits; }
  int64_t registerCount() const { return count(registerDigits); }
  int64_t warpCount() const { return count(warpDigits); }

  /// What this register of this lane of this warp holds. The arguments must be
  /// in range.
  Coordinates coordinates(int64_t reg, int64_t lane, int64_t warp) const;
  /// The inverse: the holder; among copies the first (their digits are 0).
  Holder holder(const Coordinates &coordinates) const;
  /// All copies().total() holders, starting with holder().
  std::vector<Holder> holders(const Coordinates &coordinates) const;
  Copies copies() const;
  /// Whether this thread is the first among copies, which stores what must be
  /// stored once.
  bool isFirst(int64_t lane, int64_t warp) const;
  /// The widest vector access along the dimension: the number n such that in
  /// every thread n registers, from each multiple of n, hold neighbours.
  int64_t contiguous(unsigned dim) const;

  bool operator==(const Distributed &o) const {
    return extents == o.extents && registerDigits == o.registerDigits &&
           laneDigits == o.laneDigits && warpDigits == o.warpDigits;
  }
  bool operator!=(const Distributed &o) const { return !(*this == o); }

  /// The bits of the lane that move along dim. A reduction along dim exchanges
  /// values across these (shfl.bfly by each), then across the warp digits
  /// along it.
  int32_t laneBits(unsigned dim) const;
  /// The bits of the lane among which copies are held.
  int32_t laneCopyBits() const;

  // Derived layouts. Unless a comment says otherwise, every thread keeps its
  // registers as they are.

  /// After a reduction along dim, which disappears. Registers along it and
  /// registers with copies disappear too; lanes and warps along it hold copies.
  Distributed dropped(unsigned dim) const;
  /// A new dimension of extent 1 in front of dimension dim (rank() at most).
  Distributed expanded(unsigned dim) const;
  /// Result dimension i is dimension permutation[i] of this.
  Distributed transposed(const std::vector<unsigned> &permutation) const;
  /// A dimension of extent 1 grows to `extent`. Each thread holds all of it, in
  /// `extent` times the registers, as their slowest digit.
  Distributed broadcast(unsigned dim, int64_t extent) const;
  /// dim gets extent 1 and its digits become copies: where the single element
  /// of a value that is broadcast along dim is needed. Opposite of dropped().
  Distributed projected(unsigned dim) const;
  /// The same elements in row-major order under another shape. Fails if a
  /// digit would cross a border of the new shape.
  Result<Distributed> reshaped(const std::vector<int64_t> &shape) const;
  /// Two blocks become one with a last dimension of 2: registers 2i and 2i+1
  /// hold register i of the first and of the second.
  Distributed joined() const;
  /// The opposite: the layout of one of the two halves. Fails unless the last
  /// dimension is 2 and held in registers. If those are not the fastest,
  /// convert to joined() of the result.
  Result<Distributed> split() const;
  /// Registers that hold copies are left out.
  Distributed withoutRegisterCopies() const;

  /// register = [2:(0,1)], lane = [4:(0,2), 8:(1,0)], warp = []
  std::string str() const;

private:
  friend class Tower;
  Distributed(std::vector<int64_t> shape, Digits registers, Digits lanes,
              Digits warps);

  std::vector<int64_t> extents;
  Digits registerDigits, laneDigits, warpDigits;
};

/// Builds a layout from the fastest digits up. Each added digit takes the next
/// stride along its dimension, so the caller gives no strides. Example: the
/// accumulator of mma.m16n8 repeated over 32 columns and 4 warps of rows:
///
///   Tower({64, 32}).registers(1, 2).lanes(1, 4).lanes(0, 8).registers(0, 2)
///                  .registers(1, 4).warps(0, 4).get()
class Tower {
public:
  explicit Tower(std::vector<int64_t> shape);
  Tower &registers(unsigned dim, int64_t extent);
  Tower &lanes(unsigned dim, int64_t extent);
  Tower &warps(unsigned dim, int64_t extent);
  Tower &copiesInLanes(int64_t extent);
  Tower &copiesInWarps(int64_t extent);
  /// The part of the dimension's extent that is not covered yet.
  int64_t rest(unsigned dim) const;
  /// Checked as Distributed::get does.
  Result<Distributed> get() const;

private:
  Digit next(unsigned dim, int64_t extent);
  std::vector<int64_t> shape, covered;
  Digits registerDigits, laneDigits, warpDigits;
};

} // namespace act::layout
#endif
