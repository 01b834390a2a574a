// SPDX-License-Identifier: Apache-2.0
//
// Addresses of a block in shared memory, as a thread's part and constants.
//
// In a panel of 2^p bytes per row, the chunk of 16 bytes c of row r lies at
// chunk c ^ f(r), and f looks at the low three bits of the row alone. A register
// adds a constant to row and chunk; where that constant is a multiple of eight
// rows, and its chunk has no bit in common with the thread's,
//
//     ((thread + constant) ^ f)  =  (thread ^ f) ^ constant
//
// so a register's address is the thread's, one XOR and an offset that the
// instruction takes.
#ifndef ACT_PASSES_TILE_THREADS_SHAREDADDRESS_H
#define ACT_PASSES_TILE_THREADS_SHAREDADDRESS_H

#include "passes/tile/threads/ThreadBuilder.h"

namespace act::tile {

class SharedAddress {
public:
  /// Of the block in `slot` of what lies at `pointer`. `row` and `column` are
  /// i32, the thread's parts; an access begins at the column and ends before
  /// `columnEnd` in every thread.
  SharedAddress(SharedType type, mlir::Value pointer, mlir::ValueRange slot, mlir::Value row,
                mlir::Value column, int64_t columnEnd, ThreadBuilder &t);

  /// !llvm.ptr<3> of element (row + r, column + c).
  mlir::Value at(int64_t r, int64_t c);

private:
  struct Panel {
    int64_t start, bytes, base; // in a row, of a row, of the panel
    int64_t phaseShift, phaseMask;
  };
  mlir::Value offsetIn(const Panel &panel, mlir::Value row, mlir::Value byte);

  ThreadBuilder &t;
  mlir::Value base, row, column;
  int64_t columnEnd, elementBytes, rowBytes;
  llvm::SmallVector<Panel> panels;
  std::map<std::pair<int64_t, int64_t>, mlir::Value> threadOffsets;
};

/// Bytes of one block of rows × columns, whichever way it is laid out.
struct SharedShape {
  int64_t rows, columns, blocks, elementBytes, swizzle;
};
SharedShape shapeOf(SharedType type);

} // namespace act::tile
#endif
