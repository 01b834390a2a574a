// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/Raster.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace act::tile;

Value act::tile::rasterNumber(Value number, gpu::GPUFuncOp kernel,
                              OpBuilder &b) {
  ScheduleAttr schedule = getSchedule(kernel);
  if (schedule.getRaster().empty())
    return number;
  Location loc = number.getLoc();
  int64_t together = schedule.getRaster()[0], columns = schedule.getRaster()[1];
  ArrayRef<int64_t> grid = getGrid(kernel);
  auto constant = [&](int64_t n) -> Value {
    return arith::ConstantIndexOp::create(b, loc, n);
  };
  auto div = [&](Value x, Value y) -> Value {
    return arith::DivUIOp::create(b, loc, x, y);
  };
  auto rem = [&](Value x, Value y) -> Value {
    return arith::RemUIOp::create(b, loc, x, y);
  };
  auto counted = [&](Value outer, int64_t count, Value inner) -> Value {
    Value all = arith::MulIOp::create(b, loc, outer, constant(count));
    return arith::AddIOp::create(b, loc, all, inner);
  };
  // The rows are those of a plane.
  Value before;
  if (const int64_t plane = grid[0] * grid[1]; grid.size() > 2 && grid[2] > 1) {
    before = counted(div(number, constant(plane)), plane, constant(0));
    number = rem(number, constant(plane));
  }
  Value group = constant(together * columns), within = rem(number, group);
  Value first = counted(div(number, group), together, constant(0));
  Value rows = arith::SubIOp::create(
      b, loc, constant(grid[0] * grid[1] / columns), first);
  rows = arith::MinUIOp::create(b, loc, rows, constant(together));
  Value row = arith::AddIOp::create(b, loc, first, rem(within, rows));
  Value own = counted(row, columns, div(within, rows));
  return before ? Value(arith::AddIOp::create(b, loc, before, own)) : own;
}

Value act::tile::positionOf(Value number, GridAxis axis, ArrayRef<int64_t> grid,
                            OpBuilder &b) {
  Location loc = number.getLoc();
  auto constant = [&](int64_t n) -> Value {
    return arith::ConstantIndexOp::create(b, loc, n);
  };
  const int own = int(axis);
  int64_t before = 1;
  for (int64_t n : grid.take_front(own))
    before *= n;
  if (before > 1)
    number = arith::DivUIOp::create(b, loc, number, constant(before));
  if (own + 1 >= int(grid.size()))
    return number;
  return arith::RemUIOp::create(b, loc, number, constant(grid[own]));
}
