// SPDX-License-Identifier: Apache-2.0
//
// Places everything in shared memory.
//
// An allocation is live from its first to its last use, counted in its own
// block: in a loop's body each iteration has its own. A use inside a loop
// counts as the whole loop. Allocations with disjoint live ranges may share
// memory. So may an op's scratch and anything dead while the op runs:
//
//     time ->   Q       |------------------------------|
//               loop 1     |--ring--|
//               loop 2                |--ring--|
//               scratch                            |-|   over a ring
//
// Memory is reused only after a barrier, when all threads have read the old
// contents. Where no `tile.barrier` exists yet, mustWait() asks for one. Copies
// in flight count as uses until they are waited for.
#ifndef ACT_PASSES_TILE_THREADS_SHAREDPLAN_H
#define ACT_PASSES_TILE_THREADS_SHAREDPLAN_H

#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace act::tile {

class SharedPlan {
public:
  /// Assigns an offset to every allocation of the kernel without one.
  explicit SharedPlan(mlir::gpu::GPUFuncOp kernel);

  /// The offset of scratch for `op`.
  int64_t scratch(mlir::Operation *op, int64_t bytes);
  /// Whether that scratch overlaps anything else.
  bool isShared(int64_t offset, int64_t bytes) const;
  /// Whether a barrier must precede `op`, because it writes memory that other
  /// threads may still be reading.
  bool mustWait(mlir::Operation *op) const;
  /// Total bytes.
  int64_t size() const { return end; }
  /// Whether ops of the kernel permute chunks by the address (SharedForm.h).
  const bool byAddress;

private:
  struct Piece {
    AllocSharedOp op;
    mlir::Operation *first = nullptr, *last = nullptr; // in op's block
    int64_t from = 0, to = -1; // live range, both ends inclusive
    int64_t offset = 0, bytes = 0, alignment = 1;
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
  int64_t lowest(int64_t bytes, int64_t alignment,
                 llvm::ArrayRef<const Piece *> others) const;
  bool hasBarrier(const Piece &piece) const;
  bool isFreeSinceBarrier(const Piece &piece) const;
  bool hasBarrierBehind(const Piece &piece) const;
  const Piece *pieceOf(mlir::Value shared) const;

  llvm::DenseMap<mlir::Operation *, Time> times;
  std::vector<Piece> pieces;
  llvm::SmallVector<std::pair<int64_t, int64_t>> scratches; // offset and bytes
  int64_t end = 0;
};

} // namespace act::tile
#endif
