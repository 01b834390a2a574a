// SPDX-License-Identifier: Apache-2.0
//
// One block of a tensor, computed from what it needs.
//
// A program of the grid works along axes: `base` to `base + extent` of some
// dimension. A place in a tensor has a coordinate for every dimension, which is
// a number that all elements of the block share, or an axis, along which the
// block extends:
//
//     result [b, i, j]      b = 3 (a number),  i along axis I,  j along axis J
//     weight [j]                               j along axis J
//     mean   [b, i]         b = 3,             i along axis I
//
// evaluate() asks what computes the tensor: an argument is loaded, an
// elementwise op is done on the blocks of its operands, each asked for at the
// coordinates that its indexing map gives, a reduction adds an axis for the
// dimension that is summed. So a group's ops are computed where they are used,
// and none of what is between them is stored.
#ifndef ACT_PASSES_ACTTOTILE_BLOCKEVALUATOR_H
#define ACT_PASSES_ACTTOTILE_BLOCKEVALUATOR_H

#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <map>

namespace act::tile {

struct Axis {
  mlir::Value base; // index
  int64_t extent;
};

struct Coordinate {
  mlir::Value scalar; // index, or null: 0
  int64_t constant = 0;
  int axis = -1; // none: a number
  auto key() const {
    return std::tuple(scalar.getAsOpaquePointer(), constant, axis);
  }
};
using Place = llvm::SmallVector<Coordinate>;

/// A block's dimensions are axes, in this order; without axes it is a scalar.
struct BlockValue {
  mlir::Value value;
  llvm::SmallVector<int> axes;
};

class BlockEvaluator {
public:
  BlockEvaluator(mlir::OpBuilder &builder, mlir::Location loc)
      : b(builder), loc(loc) {}

  int addAxis(mlir::Value base, int64_t extent);
  const Axis &axis(int i) const { return axes[i]; }
  /// The memory of an argument or a result.
  void bind(mlir::Value tensor, mlir::Value pointer) {
    pointers[tensor] = pointer;
  }

  mlir::FailureOr<BlockValue> evaluate(mlir::Value tensor, const Place &place);
  /// Writes a block of `tensor`, whose memory is at `pointer`.
  mlir::LogicalResult store(BlockValue block, mlir::RankedTensorType type,
                            mlir::Value pointer, const Place &place);
  /// `block` with these axes, in this order, all of which it has or repeats.
  mlir::Value spread(BlockValue block, llvm::ArrayRef<int> onto);

private:
  struct Operands {
    llvm::SmallVector<BlockValue> blocks;
    llvm::SmallVector<int> axes;
  };
  mlir::FailureOr<BlockValue> compute(mlir::Value tensor, const Place &place);
  mlir::FailureOr<BlockValue> load(mlir::RankedTensorType type,
                                   mlir::Value pointer, const Place &place);
  mlir::FailureOr<BlockValue> generic(mlir::linalg::GenericOp op,
                                      unsigned result, const Place &place);
  mlir::FailureOr<BlockValue> reduce(mlir::linalg::GenericOp op, Place loops,
                                     llvm::ArrayRef<unsigned> dims);
  mlir::FailureOr<BlockValue> product(mlir::linalg::GenericOp op, Place loops,
                                      unsigned dim);
  mlir::FailureOr<Operands> operands(mlir::linalg::GenericOp op,
                                     const Place &loops, unsigned count);
  mlir::FailureOr<BlockValue>
  bodyOp(mlir::Operation *op, llvm::DenseMap<mlir::Value, BlockValue> &values,
         const Place &loops);
  mlir::FailureOr<Coordinate> at(mlir::AffineExpr expr, const Place &loops);
  mlir::Value viewOf(mlir::RankedTensorType type, mlir::Value pointer);
  /// A number of the function around, made again in the kernel.
  mlir::Value scalarOf(mlir::Value v);
  mlir::Value indexOf(const Coordinate &c);
  mlir::Value numbers(const Coordinate &c); // i64, along its axis
  mlir::Value constant(int64_t v);
  /// An axis from 0 to `extent` that `loops` do not have yet. One that there is
  /// already is taken again: a row that is summed and then read is one block.
  int wholeAxis(int64_t extent, const Place &loops);

  mlir::OpBuilder &b;
  mlir::Location loc;
  std::vector<Axis> axes;
  llvm::DenseMap<mlir::Value, mlir::Value> pointers, scalars;
  std::map<std::pair<const void *, const void *>, mlir::Value>
      views; // of type and pointer
  using Key =
      std::pair<void *, std::vector<std::tuple<const void *, int64_t, int>>>;
  std::map<Key, BlockValue> known;
};

} // namespace act::tile
#endif
