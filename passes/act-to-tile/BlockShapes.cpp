// SPDX-License-Identifier: Apache-2.0
// Blocks of reshapes and slices of what is computed.
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "passes/act-to-tile/BlockEvaluator.h"

using namespace mlir;
using namespace act::tile;

/// A block along a dimension that is several: as a block along each of these,
/// where it has whole ones of all but the first.
FailureOr<BlockValue> BlockEvaluator::collapsedBlock(tensor::CollapseShapeOp op,
                                                     const Place &place) {
  Place moved;
  SmallVector<int> inner, onto; // axes of the source's block, of the result's
  for (auto [c, group] : llvm::zip(place, op.getReassociationIndices())) {
    if (c.axis >= 0)
      onto.push_back(c.axis);
    if (c.axis < 0 || group.size() == 1) {
      if (group.size() > 1)
        return op.emitOpError("collapses numbers beside a block");
      moved.push_back(c);
      if (c.axis >= 0)
        inner.push_back(c.axis);
      continue;
    }
    int64_t rest = 1;
    for (int64_t d : ArrayRef(group).drop_front())
      rest *= op.getSrcType().getDimSize(d);
    const Axis own = axes[c.axis];
    if (own.extent % rest || c.scalar || c.constant)
      return op.emitOpError()
             << "collapses what is computed along an axis; its "
                "blocks have no multiple of "
             << rest;
    Coordinate first;
    Value base = scaled<arith::DivUIOp>(own.base, rest);
    if (own.extent == rest) {
      first.scalar = base;
    } else {
      first.axis = addAxis(base, own.extent / rest);
      inner.push_back(first.axis);
    }
    moved.push_back(first);
    for (int64_t d : ArrayRef(group).drop_front()) {
      moved.push_back({});
      if (op.getSrcType().getDimSize(d) == 1)
        continue;
      moved.back().axis = wholeAxis(op.getSrcType().getDimSize(d), moved);
      inner.push_back(moved.back().axis);
    }
  }
  auto block = evaluate(op.getSrc(), moved);
  if (failed(block))
    return failure();
  Value v = spread(*block, inner);
  SmallVector<int64_t> shape;
  for (int a : onto)
    shape.push_back(axes[a].extent);
  auto type = RankedTensorType::get(shape, getElementTypeOrSelf(v.getType()));
  return BlockValue{ReshapeOp::create(b, loc, type, v), onto};
}

/// The slice where the place is in it, else what it was inserted into.
FailureOr<BlockValue> BlockEvaluator::inserted(tensor::InsertSliceOp op,
                                               const Place &place) {
  if (op.getSourceType().getRank() != op.getDestType().getRank() ||
      !op.hasUnitStride() ||
      llvm::any_of(op.getStaticOffsets(), ShapedType::isDynamic))
    return op->emitOpError("has no form on blocks");
  Place moved(place);
  BlockValue inside;
  auto also = [&](Value condition, const SmallVector<int> &along) {
    if (!inside.value) {
      inside = {condition, along};
      return;
    }
    SmallVector<int> onto(inside.axes);
    for (int a : along)
      if (!llvm::is_contained(onto, a))
        onto.push_back(a);
    inside = {arith::AndIOp::create(b, loc, spread(inside, onto),
                                    spread({condition, along}, onto)),
              onto};
  };
  for (size_t d = 0; d < place.size(); ++d) {
    int64_t from = op.getStaticOffsets()[d],
            to = from + op.getSourceType().getDimSize(d);
    moved[d].constant -= from;
    SmallVector<int> along;
    if (place[d].axis >= 0)
      along.push_back(place[d].axis);
    Value at = numbers(place[d]);
    auto compare = [&](arith::CmpIPredicate p, int64_t bound) {
      Value v = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(bound));
      also(arith::CmpIOp::create(b, loc, p, at, spread({v, {}}, along)), along);
    };
    if (from > 0)
      compare(arith::CmpIPredicate::sge, from);
    if (to < op.getDestType().getDimSize(d))
      compare(arith::CmpIPredicate::slt, to);
  }
  auto source = evaluate(op.getSource(), moved);
  if (failed(source) || !inside.value)
    return source;
  // Nothing is inserted into at first.
  if (op.getDest().getDefiningOp<tensor::EmptyOp>())
    return source;
  auto dest = evaluate(op.getDest(), place);
  if (failed(dest))
    return failure();
  SmallVector<int> onto;
  for (const Coordinate &c : place)
    if (c.axis >= 0)
      onto.push_back(c.axis);
  // A condition of all is a number.
  Value which = inside.axes.empty() ? inside.value : spread(inside, onto);
  return BlockValue{arith::SelectOp::create(b, loc, which,
                                            spread(*source, onto),
                                            spread(*dest, onto)),
                    onto};
}

FailureOr<Place>
BlockEvaluator::collapsed(const Place &place,
                          ArrayRef<ReassociationIndices> groups,
                          ArrayRef<int64_t> shape) {
  Place moved;
  for (const ReassociationIndices &group : groups) {
    Coordinate whole;
    int64_t inner = 1;
    for (int64_t d : llvm::reverse(group)) {
      const Coordinate &c = place[d];
      if (c.axis >= 0 && (inner != 1 || whole.axis >= 0))
        return failure();
      if (c.axis >= 0)
        whole.axis = c.axis;
      if (c.scalar)
        whole.scalar =
            sum(whole.scalar,
                inner == 1 ? c.scalar : scaled<arith::MulIOp>(c.scalar, inner));
      whole.constant += c.constant * inner;
      inner *= shape[d];
    }
    moved.push_back(whole);
  }
  return moved;
}
