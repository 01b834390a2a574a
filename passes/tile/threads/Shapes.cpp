// SPDX-License-Identifier: Apache-2.0
//
// Ops that only move elements to other positions. No data crosses threads: each
// result register is one of the operand's, because layouts were assigned that
// way. Only a reshape between shapes that share no layout is a conversion.
#include "passes/tile/Layouts.h"
#include "passes/tile/threads/ThreadBuilder.h"

using namespace mlir;
using namespace act::tile;

/// For each register of `to`, the register of `from` with the element at
/// source(its coordinates).
static LogicalResult
regroup(Value from, Value to, ThreadBuilder &t,
        llvm::function_ref<Coordinates(Coordinates)> source) {
  const act::layout::Distributed &in = t.layoutOf(from.getType()),
                                 &out = t.layoutOf(to.getType());
  // Coordinates of lane and warp 0 stand for all threads: their parts are equal
  // on both sides. Of registers with copies the first is taken.
  std::map<Coordinates, int64_t> at;
  for (int64_t r = in.registerCount() - 1; r >= 0; --r)
    at[in.coordinates(r, 0, 0)] = r;
  Registers result;
  for (int64_t r = 0; r < out.registerCount(); ++r) {
    auto it = at.find(source(out.coordinates(r, 0, 0)));
    if (it == at.end())
      return to.getDefiningOp()->emitOpError()
             << "needs elements of other threads: " << in.str() << " to "
             << out.str();
    result.push_back(t.of(from)[it->second]);
  }
  t.set(to, std::move(result));
  return success();
}

static Coordinates reshaped(const Coordinates &c, ArrayRef<int64_t> from,
                            ArrayRef<int64_t> to) {
  int64_t linear = 0;
  for (auto [x, n] : llvm::zip(c, from))
    linear = linear * n + x;
  Coordinates out(to.size());
  for (size_t d = to.size(); d-- > 0; linear /= to[d])
    out[d] = linear % to[d];
  return out;
}

LogicalResult act::tile::lowerShape(Operation *op, ThreadBuilder &t) {
  if (auto iota = dyn_cast<IotaOp>(op)) {
    Value base = t.base(iota.getType(), 0);
    Registers out;
    const act::layout::Distributed &l = t.layoutOf(iota.getType());
    for (int64_t r = 0; r < l.registerCount(); ++r) {
      int64_t first = l.coordinates(r, 0, 0)[0] + iota.getStart();
      Value v = first ? t.add(base, t.i32(first)) : base;
      if (t.element(iota.getType()).isInteger(64))
        v = arith::ExtSIOp::create(t.b, t.loc, t.b.getI64Type(), v);
      out.push_back(v);
    }
    t.set(iota, std::move(out));
    return success();
  }
  Value result = op->getResult(0);
  auto shape = cast<RankedTensorType>(result.getType()).getShape();
  if (auto join = dyn_cast<JoinOp>(op)) {
    // Registers 2i and 2i + 1 are register i of both.
    Registers out;
    for (auto [x, y] :
         llvm::zip(t.of(op->getOperand(0)), t.of(op->getOperand(1)))) {
      out.push_back(x);
      out.push_back(y);
    }
    t.set(result, std::move(out));
    return success();
  }
  if (auto split = dyn_cast<SplitOp>(op)) {
    Registers halves[2];
    for (auto [i, v] : llvm::enumerate(t.of(op->getOperand(0))))
      halves[i % 2].push_back(v);
    t.set(op->getResult(0), std::move(halves[0]));
    t.set(op->getResult(1), std::move(halves[1]));
    return success();
  }
  Value from = op->getOperand(0);
  auto fromShape = cast<RankedTensorType>(from.getType()).getShape();
  if (isa<BroadcastOp>(op))
    return regroup(from, result, t, [&](Coordinates c) {
      for (auto [d, n] : llvm::enumerate(fromShape))
        if (n == 1)
          c[d] = 0;
      return c;
    });
  if (auto trans = dyn_cast<TransOp>(op))
    return regroup(from, result, t, [&](Coordinates c) {
      std::swap(c[c.size() - 1], c[c.size() - 2]);
      return c;
    });
  auto flat = [&](Value v) {
    return collapsed(cast<RankedTensorType>(v.getType()), 1);
  };
  if (isa<ReshapeOp>(op) && flat(from) != flat(result)) {
    // No layout fits both shapes, so elements move between threads.
    auto registers = converted(op, t.of(from), flat(from), flat(result), t);
    if (failed(registers))
      return failure();
    t.set(result, std::move(*registers));
    return success();
  }
  // Reshape and expand_dims: the same elements in row-major order.
  return regroup(from, result, t,
                 [&](Coordinates c) { return reshaped(c, shape, fromShape); });
}
