// SPDX-License-Identifier: Apache-2.0
//
// Random bits, assert and print.
#include "dialects/act/Philox.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/tile/threads/ThreadBuilder.h"

using namespace mlir;
using namespace act::tile;

/// The numbers that act.dropout draws, by the same code.
static LogicalResult lowerPhilox(PhiloxOp op, ThreadBuilder &t) {
  act::PhiloxKey key =
      act::preparePhilox(t.b, t.loc, t.scalar(op.getSeed()),
                         t.scalar(op.getStep()), t.scalar(op.getSite()));
  act::Scalars scalars(t.b, t.loc, t.b.getF32Type());
  if (!t.isBlock(op.getResult())) {
    t.scalars.map(op.getResult(),
                  act::philoxWord(scalars, key, t.scalar(op.getIndex())));
    return success();
  }
  Registers out;
  // The bits are a function of the element's index, whatever thread has it.
  for (Value index : t.of(op.getIndex()))
    out.push_back(act::philoxWord(scalars, key, index));
  t.set(op.getResult(), std::move(out));
  return success();
}

/// Each thread checks the elements that it holds.
static LogicalResult lowerAssert(AssertOp op, ThreadBuilder &t) {
  Value condition = op.getCondition();
  Value all;
  if (!t.isBlock(condition)) {
    all = t.scalar(condition);
  } else {
    for (Value v : t.of(condition))
      all = all ? Value(arith::AndIOp::create(t.b, t.loc, all, v)) : v;
  }
  cf::AssertOp::create(t.b, t.loc, all, op.getMessage());
  return success();
}

/// A printf argument and its conversion specifier.
static std::pair<Value, StringRef> printed(Value v, ThreadBuilder &t) {
  OpBuilder &b = t.b;
  Type type = v.getType();
  if (type.isF64())
    return {v, "%f"};
  if (isa<FloatType>(type))
    return {arith::ExtFOp::create(b, t.loc, b.getF64Type(), v), "%f"};
  if (type.isIndex())
    return {arith::IndexCastOp::create(b, t.loc, b.getI64Type(), v), "%lld"};
  if (type.isInteger(64))
    return {v, "%lld"};
  if (type.isInteger(1))
    return {arith::ExtUIOp::create(b, t.loc, b.getI32Type(), v), "%d"};
  if (!type.isInteger(32))
    v = arith::ExtSIOp::create(b, t.loc, b.getI32Type(), v);
  return {v, "%d"};
}

/// One line per element, printed by the first thread that holds it.
static LogicalResult lowerPrint(PrintOp op, ThreadBuilder &t) {
  Type block;
  for (Value v : op.getValues())
    if (t.isBlock(v))
      block = v.getType();
  Value once = block
                   ? t.holdsFirstCopy(block)
                   : arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq,
                                           t.thread, t.i32(0));
  OpBuilder::InsertionGuard guard(t.b);
  if (once) {
    auto branch = scf::IfOp::create(t.b, t.loc, TypeRange(), once, false);
    t.b.setInsertionPointToStart(&branch.getThenRegion().front());
  }
  std::set<Coordinates> done;
  for (int64_t r = 0, n = block ? t.registersOf(block) : 1; r < n; ++r) {
    if (block && !done.insert(t.layoutOf(block).coordinates(r, 0, 0)).second)
      continue;
    SmallVector<Value> values;
    std::string format;
    StringRef rest = op.getFormat();
    for (Value v : op.getValues()) {
      auto [value, word] = printed(t.isBlock(v) ? t.of(v)[r] : t.scalar(v), t);
      values.push_back(value);
      auto [text, after] = rest.split("{}");
      for (char c : text)
        format += c == '%' ? std::string("%%") : std::string(1, c);
      format += word;
      rest = after;
    }
    for (char c : rest)
      format += c == '%' ? std::string("%%") : std::string(1, c);
    gpu::PrintfOp::create(t.b, t.loc, format + "\n", values);
  }
  return success();
}

LogicalResult act::tile::lowerDebug(Operation *op, ThreadBuilder &t) {
  if (auto philox = dyn_cast<PhiloxOp>(op))
    return lowerPhilox(philox, t);
  if (auto check = dyn_cast<AssertOp>(op))
    return lowerAssert(check, t);
  return lowerPrint(cast<PrintOp>(op), t);
}
