// SPDX-License-Identifier: Apache-2.0
//
// The fragments of Mma.h, written as towers of digits: first the fragment of
// one instruction, then tiles and warps in the header's order.
#include "act/Layout/Mma.h"
#include <algorithm>

namespace act::layout {

static bool hasInstruction(int64_t elementBits) {
  return elementBits == 8 || elementBits == 16 || elementBits == 32 ||
         elementBits == 64;
}

/// The smallest k of an instruction for these elements: half of the full k,
/// except for 64 bits.
static int64_t leastDepth(int64_t elementBits) {
  return elementBits == 64 ? 4 : 128 / elementBits;
}

int64_t mmaDepth(int64_t elementBits, int64_t k) {
  if (!hasInstruction(elementBits))
    return 0;
  int64_t whole = 256 / elementBits, least = leastDepth(elementBits);
  return k < 1 || k % least ? 0 : k % whole ? least : whole;
}

static Status checkMultiple(const char *what, int64_t extent, int64_t unit) {
  if (extent >= 1 && extent % unit == 0)
    return ok();
  return Error{std::string(what) + " is " + std::to_string(extent) +
                   ", expected a multiple of " + std::to_string(unit),
               ""};
}

static Status checkBlock(const std::vector<int64_t> &shape, int64_t warpsM,
                         int64_t warpsN) {
  if (shape.size() != 2)
    return Error{"a block of mma has 2 dimensions, found " +
                     std::to_string(shape.size()),
                 ""};
  if (warpsM < 1 || warpsN < 1 || warpsM > Distributed::mostWarps ||
      warpsN > Distributed::mostWarps)
    return Error{"expected 1 to 32 warps along m and n, found " +
                     std::to_string(warpsM) + " and " + std::to_string(warpsN),
                 ""};
  return ok();
}

static Status checkDepth(int64_t k, int64_t elementBits) {
  if (!hasInstruction(elementBits))
    return Error{
        "an operand of mma has elements of 8, 16, 32 or 64 bits, found " +
            std::to_string(elementBits),
        ""};
  return checkMultiple("k", k, leastDepth(elementBits));
}

/// Elements packed into a 32-bit register; 1 for f64.
static int64_t packed(int64_t elementBits) {
  return std::max<int64_t>(1, 32 / elementBits);
}
/// Number of an instruction operand's registers along k.
static int64_t halves(int64_t elementBits, int64_t depth) {
  return depth / (4 * packed(elementBits));
}

/// `together`: a warp's columns are adjacent, not every warpsN-th eight.
static Result<Distributed> accumulator(std::vector<int64_t> shape,
                                       int64_t warpsM, int64_t warpsN,
                                       bool together) {
  if (Status s = checkBlock(shape, warpsM, warpsN); !s)
    return s.error();
  if (Status s = checkMultiple("m", shape[0], 16 * warpsM); !s)
    return s.error();
  if (Status s = checkMultiple("n", shape[1], 8 * warpsN); !s)
    return s.error();
  const int64_t eights = shape[1] / (8 * warpsN);
  Tower t(shape);
  t.registers(1, 2).lanes(1, 4).lanes(0, 8).registers(0, 2).warps(0, warpsM);
  if (together)
    t.registers(1, eights).warps(1, warpsN);
  else
    t.warps(1, warpsN).registers(1, eights);
  return t.registers(0, shape[0] / (16 * warpsM)).get();
}

Result<Distributed> mmaAccumulator(std::vector<int64_t> shape, int64_t warpsM,
                                   int64_t warpsN) {
  return accumulator(std::move(shape), warpsM, warpsN, /*together=*/false);
}

Result<Distributed> wgmmaAccumulator(std::vector<int64_t> shape, int64_t warpsM,
                                     int64_t warpsN) {
  return accumulator(std::move(shape), warpsM, warpsN, /*together=*/true);
}

Result<Distributed> mmaAccumulatorByColumns(std::vector<int64_t> shape,
                                            int64_t warpsM, int64_t warpsN) {
  if (Status s = checkBlock(shape, warpsM, warpsN); !s)
    return s.error();
  if (Status s = checkMultiple("m", shape[0], 16 * warpsM); !s)
    return s.error();
  if (Status s = checkMultiple("n", shape[1], 16 * warpsN); !s)
    return s.error();
  return Tower(shape)
      .registers(1, 2)
      .lanes(1, 4)
      .lanes(0, 8)
      .registers(0, 2)
      .registers(1, 2)
      .warps(1, warpsN)
      .warps(0, warpsM)
      .registers(1, shape[1] / (16 * warpsN))
      .registers(0, shape[0] / (16 * warpsM))
      .get();
}

/// Adds to an operand's fragments how the accumulator deals tiles along `dim`:
/// its registers from `tile` on, and its warps. Warps along the other dimension
/// hold copies.
static Result<Distributed> dealtAs(const Distributed &accumulator, unsigned dim,
                                   int64_t tile, std::vector<int64_t> shape,
                                   Digits registers, Digits lanes) {
  auto along = [&](int64_t extent, int64_t stride) {
    Digit d{extent, {0, 0}};
    d.strides[dim] = stride;
    return d;
  };
  for (const Digit &d : accumulator.registers())
    // Its beginning may be within a tile.
    if (const int64_t end = d.extent * d.stride();
        d.dimension() == dim && end > tile) {
      const int64_t stride = std::max(tile, d.stride());
      registers.push_back(along(end / stride, stride));
    }
  Digits warps;
  for (const Digit &d : accumulator.warps())
    warps.push_back(along(d.extent, d.dimension() == dim ? d.stride() : 0));
  return Distributed::get(std::move(shape), std::move(registers),
                          std::move(lanes), std::move(warps));
}

/// A has its depth along the columns and m along the rows, B the other way
/// round.
static Result<Distributed> operand(std::vector<int64_t> shape,
                                   const Distributed &accumulator,
                                   int64_t elementBits, bool isA) {
  if (Status s = checkBlock(shape, 1, 1); !s)
    return s.error();
  const unsigned along = isA ? 1 : 0, across = isA ? 0 : 1;
  if (Status s = checkDepth(shape[along], elementBits); !s)
    return s.error();
  const int64_t depth = mmaDepth(elementBits, shape[along]);
  std::vector<int64_t> fragment = shape;
  fragment[across] = isA ? 16 : 8;
  Tower tower(fragment);
  tower.registers(along, packed(elementBits)).lanes(along, 4).lanes(across, 8);
  if (isA)
    tower.registers(across, 2);
  auto fragments = tower.registers(along, halves(elementBits, depth))
                       .registers(along, shape[along] / depth)
                       .get();
  if (!fragments)
    return fragments.error();
  return dealtAs(accumulator, across, fragment[across], std::move(shape),
                 fragments->registers(), fragments->lanes());
}

Result<Distributed> mmaOperandA(std::vector<int64_t> shape,
                                const Distributed &accumulator,
                                int64_t elementBits) {
  return operand(std::move(shape), accumulator, elementBits, /*isA=*/true);
}

Result<Distributed> mmaOperandB(std::vector<int64_t> shape,
                                const Distributed &accumulator,
                                int64_t elementBits) {
  return operand(std::move(shape), accumulator, elementBits, /*isA=*/false);
}

} // namespace act::layout
