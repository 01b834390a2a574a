// SPDX-License-Identifier: Apache-2.0
//
// Where in shared memory everything lies.
//
// An allocation is needed from its first use to its last one, counted in the
// block that it is in: in a loop's body each iteration has its own. A use
// inside of a loop counts as the whole loop. Allocations that are never needed
// at once may have the same memory, and so may the scratch of an op and
// whatever is not needed while the op runs:
//
//     time ->   Q       |------------------------------|
//               loop 1     |--ring--|
//               loop 2                |--ring--|
//               scratch                            |-|   over a ring
//
// Memory changes hands at a barrier: all threads have read what was there.
// Where no `tile.barrier` stands already, mustWait() says so. Copies under way
// count as uses until they are waited for.
#ifndef ACT_PASSES_TILE_THREADS_SHAREDPLAN_H
#define ACT_PASSES_TILE_THREADS_SHAREDPLAN_H

#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace act::tile {

class SharedPlan {
public:
  /// Gives every allocation of the kernel that has no offset one.
  explicit SharedPlan(mlir::gpu::GPUFuncOp kernel);

  /// Where scratch for `op` is.
  int64_t scratch(mlir::Operation *op, int64_t bytes);
  /// Whether scratch there was, or will be, something else.
  bool isShared(int64_t offset, int64_t bytes) const;
  /// Whether a barrier must stand before `op`, as memory that others may still
  /// read is written from there on.
  bool mustWait(mlir::Operation *op) const;
  /// Bytes of all of it.
  int64_t size() const { return end; }

private:
  struct Piece {
    AllocSharedOp op;
    mlir::Operation *first = nullptr; // in the allocation's block
    int64_t from = 0, to = -1;        // when; both count
    int64_t offset = 0, bytes = 0;
    bool inLoop = false;
    bool isNeeded(int64_t begin, int64_t until) const {
      return from <= until && begin <= to;
    }
    bool meets(int64_t start, int64_t size) const {
      return offset < start + size && start < offset + bytes;
    }
  };
  using Time = std::pair<int64_t, int64_t>;

  void findUses(Piece &piece);
  void place();
  int64_t lowest(int64_t bytes, llvm::ArrayRef<const Piece *> others) const;
  bool hasBarrier(const Piece &piece) const;
  const Piece *pieceOf(mlir::Value shared) const;

  llvm::DenseMap<mlir::Operation *, Time> times;
  std::vector<Piece> pieces;
  llvm::SmallVector<std::pair<int64_t, int64_t>> scratches; // offset and bytes
  int64_t end = 0;
};

} // namespace act::tile
#endif
