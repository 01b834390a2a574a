// SPDX-License-Identifier: Apache-2.0
//
// Where a role is in a ring of shared memory: a slot, and the parity of the
// round through the ring, by which waits name a round of an mbarrier. Loops
// carry it. If the number of slots is a power of two, that is the count of
// slots so far, which loops over the same blocks then have in common; else it
// is slot and parity.
#ifndef ACT_PASSES_TILE_RINGPOSITION_H
#define ACT_PASSES_TILE_RINGPOSITION_H
#include "mlir/IR/Builders.h"
#include "mlir/IR/Region.h"

namespace act::tile {

class RingPosition {
public:
  RingPosition() = default;
  /// The first slot of the first round.
  static RingPosition first(int64_t slots, mlir::OpBuilder &b,
                            mlir::Location loc);
  /// i32; what loops carry, and the position where they carry other values.
  mlir::ValueRange carried() const { return values; }
  RingPosition at(mlir::ValueRange carried) const;
  static size_t countCarried(int64_t slots);

  mlir::Value slot(mlir::OpBuilder &b, mlir::Location loc) const; // index
  /// 0 or 1, i32; and that of the round before.
  mlir::Value parity(mlir::OpBuilder &b, mlir::Location loc) const;
  mlir::Value otherParity(mlir::OpBuilder &b, mlir::Location loc) const;
  RingPosition next(mlir::OpBuilder &b, mlir::Location loc) const;
  /// The slot before this one, of the same round or the one before; index.
  mlir::Value slotBefore(mlir::OpBuilder &b, mlir::Location loc) const;

private:
  bool isCount() const { return values.size() == 1; }
  int64_t slots = 0;
  llvm::SmallVector<mlir::Value, 2> values;
};

/// Lets loops carry one count where they carry equal ones: rings that go
/// through the same loops.
void mergeEqualCounts(mlir::Region &region);

} // namespace act::tile
#endif
