// SPDX-License-Identifier: Apache-2.0
//
// Building blocks of reductions and scans: combining two elements, values of
// other lanes, and parts of other warps.
#ifndef ACT_PASSES_TILE_THREADS_COMBINE_H
#define ACT_PASSES_TILE_THREADS_COMBINE_H

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "passes/tile/threads/ThreadBuilder.h"

namespace act::tile {

/// Like those of ThreadBuilder.h.
mlir::LogicalResult lowerScan(mlir::Operation *op, ThreadBuilder &t);

using Tuple = llvm::SmallVector<mlir::Value>; // one value per operand

/// Combines `a`, which comes first along the axis, with `c` by kind or region.
Tuple combine(std::optional<CombineKind> kind, mlir::Region &combiner,
              const Tuple &a, const Tuple &c, ThreadBuilder &t);

/// Another lane's value. `by` is the xor of the lane numbers (bfly), the
/// distance to the lower lane (up), or the lane (idx).
mlir::Value shuffle(mlir::Value v, mlir::NVVM::ShflKind kind, mlir::Value by,
                    ThreadBuilder &t);

/// Values split over the warps, exchanged through shared memory: all parts are
/// written, then any thread may read any part.
class WarpParts {
public:
  /// The meaning of a digit of lanes or warps for a value.
  enum class Role {
    Part, // selects the part
    Same, // none: all hold the same
    Place // selects the value
  };
  WarpParts(const layout::Distributed &layout,
            llvm::function_ref<Role(const layout::Digit &, bool ofWarps)> role,
            ThreadBuilder &t);

  int64_t count() const { return parts; }
  /// The number of this warp's part.
  mlir::Value own() const { return part; }
  /// Writes this warp's part of each value; a barrier follows.
  void write(llvm::ArrayRef<Tuple> values);
  /// Part `p` of value `i`.
  Tuple read(int64_t p, size_t i);

private:
  mlir::Value address(size_t operand, mlir::Value partNumber,
                      int64_t constantPart, int64_t i, mlir::Type type);

  ThreadBuilder &t;
  int64_t parts = 1, places = 1;
  mlir::Value part, where;
  mlir::Value writes; // null: all do
  // [operand][part][value][place]
  mlir::Value base;
  int64_t values = 0;
  llvm::SmallVector<int64_t> offsets;
  llvm::SmallVector<mlir::Type> types;
};

} // namespace act::tile
#endif
