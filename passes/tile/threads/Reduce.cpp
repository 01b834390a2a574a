// SPDX-License-Identifier: Apache-2.0
//
// Reductions: first the registers of a thread, as a balanced tree in the order
// of their coordinates; then lanes, by exchanges; then warps, through shared
// memory. The order depends on the shape and the layout alone.
#include "passes/tile/threads/Combine.h"

using namespace mlir;
using namespace act::tile;

namespace {

class BlockReduction {
public:
  BlockReduction(ReduceOp op, ThreadBuilder &t)
      : op(op), t(t), axis(op.getAxis()),
        in(t.layoutOf(op.getInputs()[0].getType())) {}

  LogicalResult run();

private:
  Tuple combine(const Tuple &a, const Tuple &c) {
    return act::tile::combine(op.getKind(), op.getCombiner(), a, c, t);
  }
  Tuple tree(ArrayRef<Tuple> values);
  void overLanes(Tuple &values);
  void overWarps(std::vector<Tuple> &values);

  ReduceOp op;
  ThreadBuilder &t;
  unsigned axis;
  const act::layout::Distributed &in;
};

/// Balanced, so that independent pairs overlap and errors of sums grow with the
/// tree's height instead of its length.
Tuple BlockReduction::tree(ArrayRef<Tuple> values) {
  if (values.size() == 1)
    return values.front();
  size_t half = (values.size() + 1) / 2;
  return combine(tree(values.take_front(half)), tree(values.drop_front(half)));
}

/// A butterfly: after the step for each bit, lanes that differ in it have the
/// same value. So all lanes of a row end with the result, as its layout says,
/// and nothing has to be broadcast.
void BlockReduction::overLanes(Tuple &values) {
  int64_t divisor = 1;
  for (const act::layout::Digit &d : in.lanes()) {
    if (d.dimension() == axis)
      for (int64_t bit = 1; bit < d.extent; bit *= 2) {
        Tuple others;
        for (Value v : values)
          others.push_back(
              shuffle(v, NVVM::ShflKind::bfly, t.i32(divisor * bit), t));
        if (op.getKind()) {
          values = combine(values, others);
          continue;
        }
        // A region may prefer its left operand on ties. Both lanes put the
        // lower one's value left, so that they agree.
        Value upper =
            arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::ne,
                                  t.digit(t.lane, divisor * bit, 2), t.i32(0));
        Tuple left, right;
        for (auto [own, other] : llvm::zip(values, others)) {
          left.push_back(
              arith::SelectOp::create(t.b, t.loc, upper, other, own));
          right.push_back(
              arith::SelectOp::create(t.b, t.loc, upper, own, other));
        }
        values = combine(left, right);
      }
    divisor *= d.extent;
  }
}

/// Each warp writes its part, one per position off the axis; all warps read all
/// parts and combine them in warp order.
void BlockReduction::overWarps(std::vector<Tuple> &values) {
  using Role = WarpParts::Role;
  WarpParts parts(
      in,
      [&](const act::layout::Digit &d, bool ofWarps) {
        if (d.dimension() == axis)
          return ofWarps ? Role::Part : Role::Same;
        return d.isCopy() ? Role::Same : Role::Place;
      },
      t);
  if (parts.count() == 1)
    return;
  parts.write(values);
  for (auto [i, value] : llvm::enumerate(values)) {
    std::vector<Tuple> all;
    for (int64_t p = 0; p < parts.count(); ++p)
      all.push_back(parts.read(p, i));
    value = tree(all);
  }
}

/// One result per register of the result's layout. Its elements must be in the
/// threads that hold the operand's, which AssignLayouts has arranged.
LogicalResult BlockReduction::run() {
  // Registers that differ only along the axis, in its order.
  std::map<Coordinates, std::map<int64_t, int64_t>> groups;
  for (int64_t r = in.registerCount() - 1; r >= 0; --r) {
    Coordinates c = in.coordinates(r, 0, 0);
    int64_t along = c[axis];
    c.erase(c.begin() + axis);
    groups[c][along] = r;
  }
  std::vector<Coordinates> wanted{{}};
  if (t.isBlock(op.getResult(0))) {
    const act::layout::Distributed &out = t.layoutOf(op.getResult(0).getType());
    wanted.clear();
    for (int64_t r = 0; r < out.registerCount(); ++r)
      wanted.push_back(out.coordinates(r, 0, 0));
  }
  std::vector<Tuple> results;
  for (const Coordinates &at : wanted) {
    auto group = groups.find(at);
    if (group == groups.end())
      return op.emitOpError()
             << "moves elements to other threads than those of " << in.str();
    std::vector<Tuple> own;
    for (auto [along, reg] : group->second) {
      Tuple one;
      for (Value input : op.getInputs())
        one.push_back(t.of(input)[reg]);
      own.push_back(one);
    }
    results.push_back(tree(own));
    overLanes(results.back());
  }
  overWarps(results);
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    if (!t.isBlock(result)) {
      t.scalars.map(result, results.front()[i]);
      continue;
    }
    Registers registers;
    for (Tuple &one : results)
      registers.push_back(one[i]);
    t.set(result, std::move(registers));
  }
  return success();
}

} // namespace

LogicalResult act::tile::lowerReduce(Operation *op, ThreadBuilder &t) {
  return BlockReduction(cast<ReduceOp>(op), t).run();
}
