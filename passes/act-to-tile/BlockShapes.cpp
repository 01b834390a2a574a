// SPDX-License-Identifier: Apache-2.0
// Blocks of reshaped and sliced values.
#include "dialects/tile/Divisor.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "passes/act-to-tile/BlockEvaluator.h"

using namespace mlir;
using namespace act::tile;

/// The digits of a coordinate along an axis, the last being fastest: digits
/// that the block covers whole, then one in part, and before these plain
/// numbers. With sizes [4, 8, 16], a block of 64 from index 128 on:
///
///   16: whole, an axis of 16      8: an axis of 4 from 0      4: the number 1
///
/// Fails if the block crosses into another value of the plain numbers, as such
/// a block is not the product of ranges, and if it may begin below 0.
FailureOr<Place> BlockEvaluator::digitsOf(const Coordinate &along,
                                          ArrayRef<int64_t> sizes,
                                          const Place &beside,
                                          SmallVectorImpl<int> &parts) {
  if (along.constant < 0)
    return failure();
  Value rest = indexOf(along);
  int64_t left = axes[along.axis].extent, divisor = divisorOf(rest);
  Place digits(sizes.size());
  if (llvm::count_if(sizes, [](int64_t n) { return n > 1; }) <= 1) {
    digits[llvm::max_element(sizes) - sizes.begin()] = along;
    parts.push_back(along.axis);
    return digits;
  }
  SmallVector<int> found;
  for (size_t i = sizes.size(); i-- > 0;) {
    bool isFirst = i == 0;
    if (sizes[i] == 1 && !(isFirst && left > 1))
      continue;
    auto upper = [&](Value v) {
      return isFirst ? v : scaled<arith::RemUIOp>(v, sizes[i]);
    };
    if (left == 1) {
      digits[i].scalar = upper(rest);
    } else if (!isFirst && left % sizes[i] == 0) {
      Place taken(beside);
      taken.append(digits.begin() + i + 1, digits.end());
      digits[i].axis = wholeAxis(sizes[i], taken);
      left /= sizes[i];
      if (divisor % sizes[i])
        return failure();
      divisor /= sizes[i];
    } else {
      // Blocks must not cross into another value of the digits before.
      if (!isFirst && (sizes[i] % left || divisor % left))
        return failure();
      digits[i].axis = addAxis(upper(rest), left);
      left = 1;
    }
    if (digits[i].axis >= 0)
      found.push_back(digits[i].axis);
    if (!isFirst)
      rest = scaled<arith::DivUIOp>(rest, sizes[i]);
  }
  parts.append(found.rbegin(), found.rend());
  return digits;
}

/// Each element's place in the source, by division and remainder. The axes stay
/// the result's.
FailureOr<BlockValue> BlockEvaluator::reshapedByElement(Operation *reshape,
                                                        const Place &place) {
  Place moved;
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(reshape)) {
    for (auto [c, group] :
         llvm::zip(place, collapse.getReassociationIndices())) {
      SmallVector<Coordinate> digits(group.size());
      Coordinate rest = notNegative(c);
      for (size_t i = group.size(); i-- > 0;) {
        int64_t size = collapse.getSrcType().getDimSize(group[i]);
        if (i == 0) {
          digits[i] = rest;
        } else if (size > 1) {
          digits[i] = combined(Arithmetic::Rem, rest, size);
          rest = combined(Arithmetic::Div, rest, size);
        }
      }
      moved.append(digits);
    }
  } else {
    auto expand = cast<tensor::ExpandShapeOp>(reshape);
    for (const ReassociationIndices &group : expand.getReassociationIndices()) {
      Coordinate whole = place[group.front()];
      for (int64_t d : ArrayRef(group).drop_front())
        whole = combined(Arithmetic::Add,
                         combined(Arithmetic::Mul, whole,
                                  expand.getResultType().getDimSize(d)),
                         place[d]);
      moved.push_back(whole);
    }
  }
  return evaluate(reshape->getOperand(0), moved);
}

/// A block along a collapsed dimension, as a block along the original ones.
FailureOr<BlockValue> BlockEvaluator::collapsedBlock(tensor::CollapseShapeOp op,
                                                     const Place &place) {
  Place moved;
  // Axes of the source's block and of the result's.
  SmallVector<int> inner, onto = axesOf(place);
  for (auto [i, group] : llvm::enumerate(op.getReassociationIndices())) {
    const Coordinate &c = place[i];
    if (c.computed)
      return reshapedByElement(op, place);
    if (c.axis < 0 || group.size() == 1) {
      if (group.size() > 1)
        return reshapedByElement(op, place);
      moved.push_back(c);
      if (c.axis >= 0)
        inner.push_back(c.axis);
      continue;
    }
    SmallVector<int64_t> sizes;
    for (int64_t d : group)
      sizes.push_back(op.getSrcType().getDimSize(d));
    // An axis of another dimension is taken, whether it comes before or after.
    Place beside(moved);
    beside.append(place.begin() + i + 1, place.end());
    auto digits = digitsOf(c, sizes, beside, inner);
    if (failed(digits)) // blocks are not whole rows
      return reshapedByElement(op, place);
    moved.append(*digits);
  }
  auto block = evaluate(op.getSrc(), moved);
  if (failed(block))
    return failure();
  if (inner.empty()) // a scalar
    return BlockValue{spread(*block, onto), onto};
  return BlockValue{reshaped(spread(*block, inner), extentsOf(onto)), onto};
}

/// One half of a pair that precedes the block's last dimension, in the middle
/// of one source dimension: [s, 2, d/2] from [s, d], as a rotary embedding
/// reads a head. Evaluates the block with both halves and takes one.
FailureOr<BlockValue> BlockEvaluator::oneOfTwo(tensor::ExpandShapeOp op,
                                               const Place &place) {
  SmallVector<int> onto = axesOf(place);
  for (size_t d = 0; d + 1 < place.size(); ++d) {
    const Coordinate &c = place[d];
    if (c.axis >= 0 || c.scalar || op.getResultType().getDimSize(d) != 2 ||
        place[d + 1].axis < 0 || place[d + 1].axis != onto.back())
      continue;
    Place both(place);
    both[d] = {};
    both[d].axis = wholeAxis(2, both);
    auto block = expandedBlock(op, both);
    if (failed(block))
      return failure();
    auto split = SplitOp::create(
        b, loc, TransOp::create(b, loc, spread(*block, axesOf(both))));
    return BlockValue{c.constant ? split.getRhs() : split.getLhs(), onto};
  }
  return failure();
}

/// A block along an expanded dimension, as a block along the source's.
FailureOr<BlockValue> BlockEvaluator::expandedBlock(tensor::ExpandShapeOp op,
                                                    const Place &place) {
  if (!isBox(place))
    return reshapedByElement(op, place);
  auto moved = collapsed(place, op.getReassociationIndices(),
                         op.getResultType().getShape());
  if (failed(moved))
    if (auto one = oneOfTwo(op, place); succeeded(one))
      return one;
  if (failed(moved)) // blocks are not whole rows
    return reshapedByElement(op, place);
  auto block = evaluate(op.getSrc(), *moved);
  SmallVector<int> whole = axesOf(*moved), onto = axesOf(place);
  if (failed(block) || whole == onto)
    return block;
  return BlockValue{reshaped(spread(*block, whole), extentsOf(onto)), onto};
}

/// The slice where the place is inside it, else the destination. A block may be
/// partly inside, so both are evaluated and the elements selected.
FailureOr<BlockValue> BlockEvaluator::inserted(tensor::InsertSliceOp op,
                                               const Place &place) {
  if (op.getSourceType().getRank() != op.getDestType().getRank() ||
      !op.hasUnitStride() ||
      llvm::any_of(op.getStaticOffsets(), ShapedType::isDynamic))
    return op->emitOpError("cannot be lowered to blocks");
  Place moved(place);
  BlockValue inside;
  auto also = [&](Value condition, ArrayRef<int> along) {
    if (!inside.value) {
      inside = {condition, SmallVector<int>(along)};
      return;
    }
    SmallVector<int> onto(inside.axes);
    for (int a : along)
      if (!llvm::is_contained(onto, a))
        onto.push_back(a);
    inside = {arith::AndIOp::create(
                  b, loc, spread(inside, onto),
                  spread({condition, SmallVector<int>(along)}, onto)),
              onto};
  };
  for (size_t d = 0; d < place.size(); ++d) {
    int64_t from = op.getStaticOffsets()[d],
            to = from + op.getSourceType().getDimSize(d);
    moved[d].constant -= from;
    BlockValue at = numbers(place[d]);
    auto compare = [&](arith::CmpIPredicate p, int64_t bound) {
      Value v = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(bound));
      also(arith::CmpIOp::create(b, loc, p, at.value, spread({v, {}}, at.axes)),
           at.axes);
    };
    if (from > 0)
      compare(arith::CmpIPredicate::sge, from);
    if (to < op.getDestType().getDimSize(d))
      compare(arith::CmpIPredicate::slt, to);
  }
  auto source = evaluate(op.getSource(), moved);
  if (failed(source) || !inside.value)
    return source;
  // The first insertion has no destination.
  if (op.getDest().getDefiningOp<tensor::EmptyOp>())
    return source;
  auto dest = evaluate(op.getDest(), place);
  if (failed(dest))
    return failure();
  SmallVector<int> onto = axesOf(place);
  // A condition that the whole block shares is a scalar.
  Value which = inside.axes.empty() ? inside.value : spread(inside, onto);
  return BlockValue{arith::SelectOp::create(b, loc, which,
                                            spread(*source, onto),
                                            spread(*dest, onto)),
                    onto};
}

/// Reuses an axis of the same range unless `place` uses it already.
int BlockEvaluator::mergedAxis(Value base, int64_t extent, const Place &place) {
  SmallVector<int> &known = merged[{base.getAsOpaquePointer(), extent}];
  SmallVector<int> taken = axesOf(place);
  for (int axis : known)
    if (!llvm::is_contained(taken, axis))
      return axis;
  known.push_back(addAxis(base, extent));
  return known.back();
}

// The inverse of digits: a group's coordinates become one number, base +
// inner * outer. Axes can be merged only if the block is contiguous in the
// collapsed dimension, which `inner != extent` tells.
FailureOr<Place>
BlockEvaluator::collapsed(const Place &place,
                          ArrayRef<ReassociationIndices> groups,
                          ArrayRef<int64_t> shape) {
  Place moved;
  for (const ReassociationIndices &group : groups) {
    Coordinate &whole = moved.emplace_back();
    Value base;
    int64_t inner = 1, extent = 1;
    auto counted = [&](Value v) {
      return inner == 1 ? v : scaled<arith::MulIOp>(v, inner);
    };
    for (int64_t d : llvm::reverse(group)) {
      const Coordinate &c = place[d];
      if (c.axis >= 0) {
        if (inner != extent)
          return failure();
        base = sum(base, counted(axes[c.axis].base));
        extent *= axes[c.axis].extent;
        whole.axis = whole.axis < 0 ? c.axis : mergedAxis(base, extent, moved);
      }
      if (c.scalar)
        whole.scalar = sum(whole.scalar, counted(c.scalar));
      whole.constant += c.constant * inner;
      inner *= shape[d];
    }
  }
  return moved;
}
