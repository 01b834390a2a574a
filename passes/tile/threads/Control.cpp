// SPDX-License-Identifier: Apache-2.0
//
// Control flow on registers. All threads take the same way, since conditions
// and bounds are scalars. What carried a block carries its registers, those of
// 16-bit numbers in pairs:
//
//     scf.for … iter_args(%acc = %zero) -> tensor<64x80xf32, #layout>
//     scf.for … iter_args(%r0 = %z, %r1 = %z, …) -> f32, f32, …
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/tile/threads/ThreadBuilder.h"

using namespace mlir;
using namespace act::tile;

/// Whether a block's numbers are handed on two in a register.
static bool inPairs(Type type, ThreadBuilder &t) {
  Type element = t.element(type);
  return (element.isBF16() || element.isF16()) && t.registersOf(type) % 2 == 0;
}

/// Replaces blocks by their registers.
static SmallVector<Value> flat(ValueRange values, ThreadBuilder &t) {
  SmallVector<Value> out;
  for (Value v : values) {
    if (t.isBlock(v) && inPairs(v.getType(), t))
      llvm::append_range(out, t.wordsOf(v));
    else if (t.isBlock(v))
      llvm::append_range(out, t.of(v));
    else
      out.push_back(t.scalar(v));
  }
  return out;
}

static SmallVector<Type> flat(TypeRange types, ThreadBuilder &t) {
  SmallVector<Type> out;
  for (Type type : types) {
    if (t.isBlock(type) && inPairs(type, t))
      out.append(t.registersOf(type) / 2, t.b.getI32Type());
    else if (t.isBlock(type))
      out.append(t.registersOf(type), t.element(type));
    else
      out.push_back(type);
  }
  return out;
}

/// Maps `olds` to `values`, which flat() made from them.
static void bind(ValueRange olds, ValueRange values, ThreadBuilder &t) {
  for (Value old : olds) {
    if (t.isBlock(old)) {
      int64_t n = t.registersOf(old.getType());
      if (inPairs(old.getType(), t)) {
        n /= 2;
        t.setWords(old, values.take_front(n));
      } else {
        t.set(old, llvm::to_vector(values.take_front(n)));
      }
      values = values.drop_front(n);
    } else {
      t.scalars.map(old, values.front());
      values = values.drop_front();
    }
  }
}

static LogicalResult lowerBody(Block &from, Block *to, ThreadBuilder &t) {
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToEnd(to);
  if (failed(lowerOps(from.without_terminator(), t)))
    return failure();
  Operation *end = from.getTerminator();
  if (auto condition = dyn_cast<scf::ConditionOp>(end))
    scf::ConditionOp::create(t.b, end->getLoc(),
                             t.scalar(condition.getCondition()),
                             flat(condition.getArgs(), t));
  else
    scf::YieldOp::create(t.b, end->getLoc(), flat(end->getOperands(), t));
  return success();
}

// The new loop's default terminator goes: the lowered body brings its own.
static LogicalResult lowerFor(scf::ForOp op, ThreadBuilder &t) {
  t.enterLoop();
  auto loop =
      scf::ForOp::create(t.b, op.getLoc(), t.scalar(op.getLowerBound()),
                         t.scalar(op.getUpperBound()), t.scalar(op.getStep()),
                         flat(op.getInitArgs(), t));
  loop.setUnsignedCmp(op.getUnsignedCmp());
  t.scalars.map(op.getInductionVar(), loop.getInductionVar());
  Block *body = loop.getBody();
  if (!body->empty() && body->back().hasTrait<OpTrait::IsTerminator>())
    body->back().erase();
  {
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(body);
    bind(op.getRegionIterArgs(), loop.getRegionIterArgs(), t);
  }
  if (failed(lowerBody(*op.getBody(), body, t)))
    return failure();
  bind(op.getResults(), loop.getResults(), t);
  return success();
}

static LogicalResult lowerIf(scf::IfOp op, ThreadBuilder &t) {
  bool hasElse = !op.getElseRegion().empty();
  auto branch =
      scf::IfOp::create(t.b, op.getLoc(), flat(op.getResultTypes(), t),
                        t.scalar(op.getCondition()), hasElse);
  for (auto [from, to] :
       {std::pair(&op.getThenRegion(), &branch.getThenRegion()),
        std::pair(&op.getElseRegion(), &branch.getElseRegion())}) {
    if (from->empty())
      continue;
    if (!to->front().empty())
      to->front().back().erase();
    if (failed(lowerBody(from->front(), &to->front(), t)))
      return failure();
  }
  bind(op.getResults(), branch.getResults(), t);
  return success();
}

static LogicalResult lowerWhile(scf::WhileOp op, ThreadBuilder &t) {
  t.enterLoop();
  auto loop = scf::WhileOp::create(
      t.b, op.getLoc(), flat(op.getResultTypes(), t), flat(op.getInits(), t));
  for (auto [from, to] : {std::pair(&op.getBefore(), &loop.getBefore()),
                          std::pair(&op.getAfter(), &loop.getAfter())}) {
    SmallVector<Type> types = flat(from->front().getArgumentTypes(), t);
    Block *block = t.b.createBlock(
        to, to->end(), types, SmallVector<Location>(types.size(), op.getLoc()));
    t.b.setInsertionPointToStart(block);
    bind(from->front().getArguments(), block->getArguments(), t);
    t.b.setInsertionPointAfter(loop);
    if (failed(lowerBody(from->front(), block, t)))
      return failure();
  }
  bind(op.getResults(), loop.getResults(), t);
  return success();
}

LogicalResult act::tile::lowerControl(Operation *op, ThreadBuilder &t) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return lowerFor(loop, t);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return lowerIf(branch, t);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return lowerWhile(loop, t);
  return op->emitOpError("is control flow that a kernel may not have, expected "
                         "scf.for, scf.if or scf.while");
}
