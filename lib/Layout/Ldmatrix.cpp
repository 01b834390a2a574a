// SPDX-License-Identifier: Apache-2.0
//
// Matches a layout with what ldmatrix puts into registers, and finds the
// matrices of each instruction.
#include "act/Layout/Ldmatrix.h"

namespace act::layout {

namespace {

/// A part of a register digit.
struct Part {
  std::array<int64_t, 2> strides; // rows, columns
  int64_t extent, weight;
};

} // namespace

/// Whether the lanes and the fastest `packed` registers move as in one matrix.
/// `along` is the dimension along which a 32-bit register packs elements.
static bool isMatrix(const Distributed &d, int64_t packed, unsigned along) {
  unsigned across = 1 - along;
  // Checks the lane bit by bit, because a digit may hold several bits.
  auto laneAt = [&](int64_t lane, unsigned dim) {
    int64_t sum = 0;
    for (const Digit &digit : d.lanes()) {
      sum += lane % digit.extent * digit.strides[dim];
      lane /= digit.extent;
    }
    return sum;
  };
  for (int64_t lane : {1, 2, 4, 8, 16}) {
    int64_t wantAlong = lane < 4 ? lane * packed : 0,
            wantAcross = lane < 4 ? 0 : lane / 4;
    if (laneAt(lane, along) != wantAlong || laneAt(lane, across) != wantAcross)
      return false;
  }
  return d.contiguous(along) % packed == 0;
}

/// The register digits without those inside a 32-bit register.
static std::vector<Part> partsOf(const Distributed &d, int64_t packed) {
  std::vector<Part> parts;
  int64_t weight = 1;
  for (const Digit &digit : d.registers()) {
    int64_t skipped = weight == 1 ? packed : 1;
    if (digit.extent > skipped)
      parts.push_back({{digit.strides[0] * skipped, digit.strides[1] * skipped},
                       digit.extent / skipped,
                       weight * skipped});
    weight *= digit.extent;
  }
  return parts;
}

Result<Ldmatrix> Ldmatrix::get(const Distributed &layout,
                               int64_t elementBytes) {
  if (layout.rank() != 2)
    return Error{"ldmatrix reads blocks of 2 dimensions, found " +
                     std::to_string(layout.rank()),
                 ""};
  if (elementBytes != 1 && elementBytes != 2 && elementBytes != 4)
    return Error{"ldmatrix reads elements of 1, 2 or 4 bytes, found " +
                     std::to_string(elementBytes),
                 ""};
  Ldmatrix result;
  result.packed = 4 / elementBytes;
  bool plain = isMatrix(layout, result.packed, 1);
  result.trans = !plain && elementBytes == 2 && isMatrix(layout, 2, 0);
  if (!plain && !result.trans)
    return Error{"lanes do not hold matrices of 8 rows of 16 bytes: " +
                     layout.str(),
                 ""};

  // Lane bits 0 to 2 are the row of a matrix. Bits 3 and 4 choose the matrix:
  // each takes a factor of 2 from a register digit. What is left of the digits
  // is the list of instructions.
  for (int b = 0; b < 3; ++b)
    result.laneStrides[b] = {1 << b, 0};
  std::vector<Part> parts = partsOf(layout, result.packed);
  int bit = 0;
  for (Part &part : parts)
    while (bit < 2 && part.extent % 2 == 0) {
      result.laneStrides[3 + bit] = part.strides;
      result.registerStrides[bit] = part.weight;
      ++bit;
      part.extent /= 2;
      part.weight *= 2;
      for (int64_t &stride : part.strides)
        stride *= 2;
    }
  result.matrices = 1 << bit;

  result.firstRegisters = {0};
  for (const Part &part : parts) {
    size_t size = result.firstRegisters.size();
    for (int64_t i = 1; i < part.extent; ++i)
      for (size_t k = 0; k < size; ++k)
        result.firstRegisters.push_back(result.firstRegisters[k] +
                                        i * part.weight);
  }
  return result;
}

std::array<int64_t, 2> Ldmatrix::pointer(const Distributed &layout, size_t i,
                                         int64_t lane, int64_t warp) const {
  Coordinates c = layout.coordinates(firstRegisters[i], 0, warp);
  std::array<int64_t, 2> place = {c[0], c[1]};
  for (int b = 0; b < 5; ++b)
    if (lane >> b & 1)
      for (int k = 0; k < 2; ++k)
        place[k] += laneStrides[b][k];
  return place;
}

int64_t Ldmatrix::registerOf(size_t i, int64_t m) const {
  return firstRegisters[i] + (m & 1) * registerStrides[0] +
         (m >> 1) * registerStrides[1];
}

} // namespace act::layout
