// SPDX-License-Identifier: Apache-2.0
//
// Reductions and scans, one element at a time along the axis.
#include "dialects/tile/Combine.h"
#include "passes/tile-to-host/HostBuilder.h"

using namespace mlir;
using namespace act::tile;

namespace {

using Tuple = SmallVector<Value>; // one value per operand

template <typename Op>
FailureOr<Tuple> combine(Op op, const Tuple &a, const Tuple &c,
                         HostBuilder &h) {
  if (auto kind = op.getKind())
    return Tuple{createCombine(h.b, h.loc, *kind, a[0], c[0])};
  Block &body = op.getCombiner().front();
  for (size_t i = 0; i < a.size(); ++i) {
    h.scalars.map(body.getArgument(i), a[i]);
    h.scalars.map(body.getArgument(a.size() + i), c[i]);
  }
  for (Operation &inner : body.without_terminator())
    if (failed(lowerOp(&inner, h)))
      return failure();
  Tuple out;
  for (Value v : body.getTerminator()->getOperands())
    out.push_back(h.scalar(v));
  return out;
}

/// The position `at` with the axis added.
SmallVector<Value> withAxis(ValueRange at, int64_t axis, Value along) {
  SmallVector<Value> all(at);
  all.insert(all.begin() + axis, along);
  return all;
}

/// One loop over the axis that carries the combination so far; a scan stores it
/// at each position, a reduction at the end. The order is that of the axis.
template <typename Op> LogicalResult lower(Op op, HostBuilder &h) {
  int64_t axis = op.getAxis();
  auto type = cast<RankedTensorType>(op.getInputs()[0].getType());
  SmallVector<int64_t> outer(type.getShape());
  int64_t extent = outer[axis];
  if (extent == 0)
    return op.emitOpError("combines no elements, which have no result");
  outer.erase(outer.begin() + axis);
  bool isScan = std::is_same_v<Op, ScanOp>;
  SmallVector<Value> memory;
  for (Value result : op.getResults())
    if (HostBuilder::isBlock(result))
      memory.push_back(h.make(result));
  auto elements = [&](ValueRange at) {
    Tuple values;
    for (Value input : op.getInputs())
      values.push_back(h.element(input, at));
    return values;
  };
  LogicalResult done = success();
  auto store = [&](ValueRange values, ValueRange at) {
    for (auto [v, to] : llvm::zip(values, memory))
      h.write(v, to, at);
  };
  h.forEach(outer, [&](ValueRange at) {
    SmallVector<Value> start = withAxis(at, axis, h.index(0));
    Tuple first = elements(start);
    if (isScan)
      store(first, start);
    Tuple total = h.loop(1, extent, first, [&](Value k, ValueRange carried) {
      SmallVector<Value> here = withAxis(at, axis, k);
      auto next = combine(op, Tuple(carried), elements(here), h);
      if (failed(next)) {
        done = failure();
        return Tuple(carried);
      }
      if (isScan)
        store(*next, here);
      return *next;
    });
    if (isScan)
      return;
    if (memory.empty())
      h.scalars.map(op.getResults(), total);
    else
      store(total, at);
  });
  return done;
}

} // namespace

LogicalResult act::tile::lowerCombine(Operation *op, HostBuilder &h) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return lower(reduce, h);
  return lower(cast<ScanOp>(op), h);
}
