// SPDX-License-Identifier: Apache-2.0
//
// Looks through transpose, reshape and expand by tracking which axes each
// dimension is made of.
//
// An axis is one loop index with a size (and a name). A dimension is a list of
// axes, outermost first: [b*a, s, d] made from [b, a, s, d] is
//
//     {b, a}  {s}  {d}
//
// Going from a view to its input only rearranges the lists: a transpose
// permutes them, a reshape distributes the same sequence over other dimensions,
// and an expand drops the axes that only repeat. Where a reshape cuts through
// an axis, the axis is split into two, everywhere at once: views that share an
// axis agree on its parts. A dimension of size 1 without a name has no axes.
//
// The axes then do not depend on how the program was written. `materialize`
// builds any order of them from the value behind the views with at most
// reshape, transpose, reshape.
#ifndef ACT_PASSES_FUSE_AXISVIEW_H
#define ACT_PASSES_FUSE_AXISVIEW_H
#include "dialects/act/ShapeCheck.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace act {

using Axes = llvm::SmallVector<unsigned, 4>;

/// A value and the axes of each of its dimensions.
struct AxisView {
  mlir::Value value;
  llvm::SmallVector<Axes, 4> dims;

  RankedTensorType getType() const {
    return llvm::cast<RankedTensorType>(value.getType());
  }
};

class AxisSpace {
public:
  /// New axes for a dimension: one, or none for an unnamed dimension of size 1.
  Axes create(const Dim &dim);

  /// `axes`, with each split axis replaced by its parts.
  Axes flat(llvm::ArrayRef<unsigned> axes) const;
  /// The axes of all dimensions, outermost first.
  Axes sequence(llvm::ArrayRef<Axes> dims) const;
  /// Equal after splitting.
  bool same(llvm::ArrayRef<unsigned> a, llvm::ArrayRef<unsigned> b) const;
  bool sameDims(llvm::ArrayRef<Axes> a, llvm::ArrayRef<Axes> b) const;
  /// Equal but for axes of size 1.
  bool sameShape(llvm::ArrayRef<Axes> a, llvm::ArrayRef<Axes> b) const;

  bool isUnit(unsigned axis) const { return nodes[axis].dim.size == 1; }
  /// The axes that are not of size 1.
  Axes withoutUnits(llvm::ArrayRef<unsigned> axes) const;
  /// The product of the axes.
  Dim product(llvm::ArrayRef<unsigned> axes) const;

  /// Moves from a transpose, reshape or expand to its input. Returns false and
  /// leaves the view unchanged for another op or for a reshape that does not
  /// divide the axes evenly.
  bool step(AxisView &view);

  /// The axes of `dims` distributed over other dimensions, as a reshape does.
  std::optional<llvm::SmallVector<Axes, 4>> regroup(llvm::ArrayRef<Axes> dims,
                                                    llvm::ArrayRef<Dim> to) {
    return distribute(sequence(dims), to, nullptr);
  }

  /// `value` as an operand broadcast to `dims`, aligned at the last dimension.
  AxisView broadcast(mlir::Value value, llvm::ArrayRef<Axes> dims) const;

  /// Emits a value with dimensions `target` from `view`, repeated along axes
  /// that the view lacks. The target may omit only view axes of size 1. `type`
  /// is the result type, if its names matter.
  mlir::Value materialize(mlir::OpBuilder &b, mlir::Location loc,
                          const AxisView &view, llvm::ArrayRef<Axes> target,
                          RankedTensorType type = {}) const;

private:
  struct Node {
    Dim dim;
    Axes parts; ///< outer to inner, once split
  };
  std::optional<llvm::SmallVector<Axes, 4>>
  distribute(llvm::ArrayRef<unsigned> sequence, llvm::ArrayRef<Dim> dims,
             Axes *rest);
  void split(unsigned axis, const Dim &outer, const Dim &inner);

  llvm::SmallVector<Node> nodes;
};

} // namespace act
#endif
