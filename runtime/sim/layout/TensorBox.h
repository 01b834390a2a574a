// SPDX-License-Identifier: Apache-2.0
//
// The box that a tensor copy moves: its bytes in global memory, and the place
// of each in shared memory.
//
//     tensor 5 × 8, box 2 × 4 at {6, 1}          in shared memory
//
//       . . . . . . . .                          a b 0 0
//       . . . . . . a b                          c d 0 0
//       . . . . . . c d
//
// A row is a run along dimension 0. Rows are contiguous in shared memory, with
// dimension 1 next; the swizzle then permutes 16-byte chunks by their address
// (Swizzle.h). Elements outside the tensor read as the fill value, and are not
// written on the way out. With an element stride of s in a dimension, every
// s-th element is taken, box / s of them, rounded up; in dimension 0 the stride
// applies only to interleaved layouts (CUDA driver API, tensor map object
// management). Otherwise an interleaved layout only means that dimension 0 is a
// slice of channels of 16 or 32 bytes.
#ifndef ACT_RUNTIME_SIM_LAYOUT_TENSORBOX_H
#define ACT_RUNTIME_SIM_LAYOUT_TENSORBOX_H
#include "runtime/TensorMap.h"
#include "runtime/sim/layout/Swizzle.h"
#include <vector>

namespace act::runtime::sim {

/// Bytes of shared memory that a box takes.
uint64_t bytesOfBox(const TiledTensor &tensor);

struct TensorBox {
  /// The box must fit in shared memory.
  TensorBox(const TiledTensor &tensor, const int32_t (&start)[5]);

  /// Elements [first, end) of a row lie in the tensor, the first at `global`.
  struct Row {
    uint64_t global = 0;
    uint32_t first = 0, end = 0;
  };
  std::vector<Row> rows; // in the order of shared memory
  uint32_t elementBytes, rowElements;
  uint32_t step; // bytes between neighbours of a row in global memory
  uint64_t bytes;
  Swizzle swizzle;

  uint64_t rowBytes() const { return uint64_t(rowElements) * elementBytes; }
  bool isWhole() const; // all of it is inside the tensor
  /// Ascending stretches of shared memory that hold the elements inside the
  /// tensor (or all elements) when the box is at `offset`.
  struct Stretch {
    uint64_t offset, bytes;
  };
  std::vector<Stretch> stretches(uint64_t offset, bool insideOnly) const;
};

} // namespace act::runtime::sim
#endif
