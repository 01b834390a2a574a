// SPDX-License-Identifier: Apache-2.0
//
// Addresses of a block's registers in global memory, and which of them are
// inside the view.
//
// A thread computes its first address once; each register adds a constant,
// which becomes the instruction's immediate offset. Runs of registers that are
// consecutive in memory are one access of up to 16 bytes, if the index, the
// view's strides and its size guarantee alignment.
#ifndef ACT_PASSES_TILE_THREADS_BLOCKACCESS_H
#define ACT_PASSES_TILE_THREADS_BLOCKACCESS_H

#include "passes/tile/threads/ThreadBuilder.h"

namespace act::tile {

/// A tensor in global memory as its parts.
struct ViewParts {
  mlir::Value pointer; // !llvm.ptr<1>
  llvm::SmallVector<mlir::OpFoldResult> sizes, strides;
};
ViewParts viewParts(mlir::Value view, ThreadBuilder &t);

/// A block type unchanged. A scalar becomes a block of one element with a copy
/// in every thread.
mlir::RankedTensorType accessedBlock(mlir::Type type, ThreadBuilder &t);

class BlockAccess {
public:
  /// `block` is the tensor type with its layout; `indices` and `extents` are
  /// those of tile.load. `shifts` are constants added to the indices, or empty.
  BlockAccess(mlir::Value view, mlir::ValueRange indices,
              llvm::ArrayRef<int64_t> extents, mlir::RankedTensorType block,
              ThreadBuilder &t, llvm::ArrayRef<int64_t> shifts = {});

  /// Elements per access; registers r … r + vector − 1.
  int64_t vector = 1;
  /// The address of register r is pointer(r) plus offset(r) bytes.
  mlir::Value pointer(int64_t r);
  int64_t offset(int64_t r);
  /// Whether register r is inside the view; null: it always is.
  mlir::Value inside(int64_t r);

private:
  struct Dimension {
    mlir::Value index;     // scalar, or null for a gathered dimension
    mlir::Value gathered;  // a block of indices, or null
    int64_t extent, block; // block: the block's dimension, or -1
    int64_t shift;         // added to the index
    mlir::OpFoldResult size, stride;
    bool atLeastZero = false, belowSize = false; // proven
    mlir::Value low, high; // i32: coordinates in [low, high) are inside
  };
  int64_t constant(int64_t r, const Dimension &d) const;
  mlir::Value bound(const Dimension &d);
  mlir::Value gatheredIndex(int64_t r, const Dimension &d);
  void chooseVector(int64_t elementBytes, ViewType view);
  void prepareBounds();

  ThreadBuilder &t;
  mlir::RankedTensorType block;
  llvm::SmallVector<Dimension> dimensions;
  mlir::Value threadPointer, uniformInside;
  std::vector<Coordinates> constants; // per register
  std::map<Coordinates, mlir::Value> pointers, insides;
  int64_t elementBytes;
};

/// The size in bytes of a dense view. The powers of two in it also align its
/// address: the tensor may be one of several in a row. Else 0.
int64_t plainBytes(ViewType view);

} // namespace act::tile
#endif
