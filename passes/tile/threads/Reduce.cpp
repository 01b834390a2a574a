// SPDX-License-Identifier: Apache-2.0
//
// Reductions: first the registers of a thread, as a balanced tree in the order
// of their coordinates; then lanes, by exchanges; then warps, through shared
// memory. The order depends on the shape and the layout alone.
#include "dialects/tile/Combine.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/tile/threads/ThreadBuilder.h"

using namespace mlir;
using namespace act::tile;

namespace {

class Reduction {
public:
  Reduction(ReduceOp op, ThreadBuilder &t)
      : op(op), t(t), axis(op.getAxis()),
        in(t.layoutOf(op.getInputs()[0].getType())) {}

  LogicalResult run();

private:
  using Tuple = SmallVector<Value>; // one value per operand
  Tuple combine(const Tuple &a, const Tuple &c);
  Tuple tree(ArrayRef<Tuple> values);
  Value exchange(Value v, int64_t lanes);
  void overLanes(Tuple &values);
  LogicalResult overWarps(std::vector<Tuple> &values);

  ReduceOp op;
  ThreadBuilder &t;
  unsigned axis;
  const act::layout::Distributed &in;
};

Reduction::Tuple Reduction::combine(const Tuple &a, const Tuple &c) {
  if (auto kind = op.getKind())
    return {createCombine(t.b, t.loc, *kind, a[0], c[0])};
  Block &body = op.getCombiner().front();
  IRMapping map;
  for (size_t i = 0; i < a.size(); ++i) {
    map.map(body.getArgument(i), a[i]);
    map.map(body.getArgument(a.size() + i), c[i]);
  }
  for (Operation &inner : body.without_terminator()) {
    for (Value v : inner.getOperands())
      if (!map.contains(v))
        map.map(v, t.scalar(v));
    t.b.clone(inner, map);
  }
  Tuple out;
  for (Value v : body.getTerminator()->getOperands())
    out.push_back(map.lookupOrDefault(v));
  return out;
}

Reduction::Tuple Reduction::tree(ArrayRef<Tuple> values) {
  if (values.size() == 1)
    return values.front();
  size_t half = (values.size() + 1) / 2;
  return combine(tree(values.take_front(half)), tree(values.drop_front(half)));
}

/// The value of the lane whose number differs by `lanes` in one bit.
Value Reduction::exchange(Value v, int64_t lanes) {
  OpBuilder &b = t.b;
  Type type = v.getType();
  auto once = [&](Value word) -> Value {
    return NVVM::ShflOp::create(b, t.loc, b.getI32Type(), t.i32(-1), word,
                                t.i32(lanes), t.i32(31), NVVM::ShflKind::bfly,
                                UnitAttr());
  };
  int64_t bits = type.getIntOrFloatBitWidth();
  auto integer = b.getIntegerType(bits);
  Value word = type == integer
                   ? v
                   : Value(arith::BitcastOp::create(b, t.loc, integer, v));
  if (bits < 32) {
    word = arith::ExtUIOp::create(b, t.loc, b.getI32Type(), word);
    word = arith::TruncIOp::create(b, t.loc, integer, once(word));
  } else if (bits == 32) {
    word = once(word);
  } else {
    Value low = arith::TruncIOp::create(b, t.loc, b.getI32Type(), word);
    Value by = arith::ConstantIntOp::create(b, t.loc, integer, 32);
    Value high = arith::TruncIOp::create(
        b, t.loc, b.getI32Type(), arith::ShRUIOp::create(b, t.loc, word, by));
    low = arith::ExtUIOp::create(b, t.loc, integer, once(low));
    high = arith::ExtUIOp::create(b, t.loc, integer, once(high));
    word = arith::OrIOp::create(b, t.loc, low,
                                arith::ShLIOp::create(b, t.loc, high, by));
  }
  return type == integer
             ? word
             : Value(arith::BitcastOp::create(b, t.loc, type, word));
}

void Reduction::overLanes(Tuple &values) {
  int64_t divisor = 1;
  for (const act::layout::Digit &d : in.lanes()) {
    if (d.dimension() == axis)
      for (int64_t bit = 1; bit < d.extent; bit *= 2) {
        Tuple others;
        for (Value v : values)
          others.push_back(exchange(v, divisor * bit));
        if (op.getKind()) {
          values = combine(values, others);
          continue;
        }
        // A region may prefer its left side among equals. Both lanes put the
        // lower one there, so that both get the same.
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

/// Each warp writes its part, one per position outside of the axis; all warps
/// read all parts and combine them in the warps' order.
LogicalResult Reduction::overWarps(std::vector<Tuple> &values) {
  OpBuilder &b = t.b;
  int64_t parts = 1, divisor = 1;
  Value part, where; // number of this warp's part; of the lane and warp outside
                     // of the axis
  int64_t places = 1;
  Value writes;
  auto place = [&](Value id, int64_t by, int64_t extent) {
    where = t.add(where, t.mul(t.digit(id, by, extent), places));
    places *= extent;
  };
  auto only = [&](Value digit) {
    Value first = arith::CmpIOp::create(b, t.loc, arith::CmpIPredicate::eq,
                                        digit, t.i32(0));
    writes =
        writes ? Value(arith::AndIOp::create(b, t.loc, writes, first)) : first;
  };
  for (const act::layout::Digit &d : in.lanes()) {
    if (d.dimension() == axis || d.isCopy())
      only(t.digit(t.lane, divisor, d.extent));
    else
      place(t.lane, divisor, d.extent);
    divisor *= d.extent;
  }
  divisor = 1;
  for (const act::layout::Digit &d : in.warps()) {
    if (d.dimension() == axis) {
      part = t.add(part, t.mul(t.digit(t.warp, divisor, d.extent), parts));
      parts *= d.extent;
    } else if (d.isCopy()) {
      only(t.digit(t.warp, divisor, d.extent));
    } else {
      place(t.warp, divisor, d.extent);
    }
    divisor *= d.extent;
  }
  if (parts == 1)
    return success();
  if (!where)
    where = t.i32(0);

  // [operand][part][register][place]
  int64_t n = values.size();
  SmallVector<int64_t> offsets;
  int64_t bytes = 0;
  for (Value v : values.front()) {
    int64_t size =
        std::max<int64_t>(1, v.getType().getIntOrFloatBitWidth() / 8);
    bytes = llvm::alignTo(bytes, 16);
    offsets.push_back(bytes);
    bytes += size * parts * n * places;
  }
  Value base = t.scratch(bytes);
  auto pointerType = base.getType();
  auto address = [&](size_t operand, Value partNumber, int64_t constantPart,
                     int64_t r, Type type) -> Value {
    Value element = t.add(where, t.i32(r * places + constantPart * n * places));
    element = t.add(element, t.mul(partNumber, n * places));
    Value p = base;
    if (offsets[operand])
      p = LLVM::GEPOp::create(
          b, t.loc, pointerType, b.getI8Type(), p,
          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offsets[operand])});
    return LLVM::GEPOp::create(b, t.loc, pointerType, type, p,
                               ValueRange{element});
  };
  auto storeAll = [&] {
    for (int64_t r = 0; r < n; ++r)
      for (auto [i, v] : llvm::enumerate(values[r])) {
        Value stored =
            v.getType().isInteger(1)
                ? Value(arith::ExtUIOp::create(b, t.loc, b.getI8Type(), v))
                : v;
        LLVM::StoreOp::create(b, t.loc, stored,
                              address(i, part, 0, r, stored.getType()));
      }
  };
  if (writes) {
    auto branch = scf::IfOp::create(b, t.loc, TypeRange(), writes, false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    storeAll();
  } else {
    storeAll();
  }
  t.barrier();
  for (int64_t r = 0; r < n; ++r) {
    std::vector<Tuple> all;
    for (int64_t p = 0; p < parts; ++p) {
      Tuple one;
      for (auto [i, v] : llvm::enumerate(values[r])) {
        Type type = v.getType().isInteger(1) ? b.getI8Type() : v.getType();
        Value loaded = LLVM::LoadOp::create(b, t.loc, type,
                                            address(i, Value(), p, r, type));
        one.push_back(
            v.getType().isInteger(1)
                ? Value(arith::TruncIOp::create(b, t.loc, v.getType(), loaded))
                : loaded);
      }
      all.push_back(one);
    }
    values[r] = tree(all);
  }
  return success();
}

LogicalResult Reduction::run() {
  // Registers that differ along the axis only, in the axis' order.
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
             << "gives elements to other threads than those of " << in.str();
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
  if (failed(overWarps(results)))
    return failure();
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
  return Reduction(cast<ReduceOp>(op), t).run();
}
