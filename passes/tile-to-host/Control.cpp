// SPDX-License-Identifier: Apache-2.0
//
// Loops and branches. A loop-carried block has one buffer for all iterations;
// the end of an iteration copies the next value there.
#include "passes/tile-to-host/HostBuilder.h"

using namespace mlir;
using namespace act::tile;

static SmallVector<Value> scalarsOf(ValueRange values, HostBuilder &h) {
  SmallVector<Value> out;
  for (Value v : values)
    if (!HostBuilder::isBlock(v))
      out.push_back(h.scalar(v));
  return out;
}

static SmallVector<Type> scalarsOf(TypeRange types) {
  SmallVector<Type> out;
  for (Type type : types)
    if (!HostBuilder::isBlock(type))
      out.push_back(type);
  return out;
}

/// Buffers for the blocks among `values`, in order.
static SmallVector<Value> buffersFor(ValueRange values, HostBuilder &h) {
  SmallVector<Value> out;
  for (Value v : values)
    if (HostBuilder::isBlock(v))
      out.push_back(h.buffer(cast<RankedTensorType>(v.getType())));
  return out;
}

/// Maps `olds` to scalars and buffers, which are counted apart.
static void bind(ValueRange olds, ValueRange scalars, ArrayRef<Value> memory,
                 HostBuilder &h) {
  size_t nextScalar = 0, nextBlock = 0;
  for (Value old : olds) {
    if (HostBuilder::isBlock(old))
      h.set(old, memory[nextBlock++]);
    else
      h.scalars.map(old, scalars[nextScalar++]);
  }
}

/// All at once: a source may be one of the buffers written.
static void copyBlocks(ValueRange values, ArrayRef<Value> to, HostBuilder &h) {
  SmallVector<Value> from;
  for (Value v : values)
    if (HostBuilder::isBlock(v))
      from.push_back(h.of(v));
  for (auto [i, memory] : llvm::enumerate(from))
    if (memory != to[i] && llvm::is_contained(to, memory)) {
      auto type = cast<MemRefType>(memory.getType());
      Value aside = memref::AllocOp::create(h.b, h.loc, type);
      h.copy(memory, aside);
      memory = aside;
    }
  for (auto [source, target] : llvm::zip(from, to))
    h.copy(source, target);
}

static LogicalResult lowerBody(Block &from, HostBuilder &h) {
  for (Operation &op : from.without_terminator())
    if (failed(lowerOp(&op, h)))
      return failure();
  h.loc = from.getTerminator()->getLoc();
  return success();
}

/// Carries the counter and whether to continue: a loop also ends when steps run
/// out, so it is a scf.while.
static LogicalResult lowerFor(scf::ForOp op, HostBuilder &h) {
  SmallVector<Value> memory = buffersFor(op.getInitArgs(), h);
  copyBlocks(op.getInitArgs(), memory, h);
  SmallVector<Value> inits{h.scalar(op.getLowerBound())};
  llvm::append_range(inits, scalarsOf(op.getInitArgs(), h));
  SmallVector<Type> types(ValueRange(inits).getTypes());
  SmallVector<Location> locations(types.size(), h.loc);
  auto loop = scf::WhileOp::create(h.b, h.loc, types, inits);
  {
    OpBuilder::InsertionGuard guard(h.b);
    Block *before = h.b.createBlock(&loop.getBefore(), {}, types, locations);
    Value isInside = arith::CmpIOp::create(
        h.b, h.loc,
        op.getUnsignedCmp() ? arith::CmpIPredicate::ult
                            : arith::CmpIPredicate::slt,
        before->getArgument(0), h.scalar(op.getUpperBound()));
    auto goesOn = scf::IfOp::create(h.b, h.loc, h.b.getI1Type(), isInside,
                                    /*withElseRegion=*/true);
    h.b.setInsertionPointToStart(&goesOn.getThenRegion().front());
    scf::YieldOp::create(h.b, h.loc, h.takeSteps(op.getBody()));
    h.b.setInsertionPointToStart(&goesOn.getElseRegion().front());
    scf::YieldOp::create(h.b, h.loc, isInside);
    h.b.setInsertionPointToEnd(before);
    scf::ConditionOp::create(h.b, h.loc, goesOn.getResult(0),
                             before->getArguments());

    Block *body = h.b.createBlock(&loop.getAfter(), {}, types, locations);
    Value counter = body->getArgument(0), step = h.scalar(op.getStep());
    h.scalars.map(op.getInductionVar(), counter);
    bind(op.getRegionIterArgs(), body->getArguments().drop_front(), memory, h);
    if (failed(lowerBody(*op.getBody(), h)))
      return failure();
    ValueRange next = op.getBody()->getTerminator()->getOperands();
    copyBlocks(next, memory, h);
    SmallVector<Value> yielded{
        arith::AddIOp::create(h.b, h.loc, counter, step)};
    llvm::append_range(yielded, scalarsOf(next, h));
    scf::YieldOp::create(h.b, h.loc, yielded);
  }
  bind(op.getResults(), loop.getResults().drop_front(), memory, h);
  return success();
}

// Both branches copy their results to the same buffers.
static LogicalResult lowerIf(scf::IfOp op, HostBuilder &h) {
  SmallVector<Value> memory = buffersFor(op.getResults(), h);
  auto branch = scf::IfOp::create(h.b, h.loc, scalarsOf(op.getResultTypes()),
                                  h.scalar(op.getCondition()),
                                  !op.getElseRegion().empty());
  for (auto [from, to] :
       {std::pair(&op.getThenRegion(), &branch.getThenRegion()),
        std::pair(&op.getElseRegion(), &branch.getElseRegion())}) {
    if (from->empty())
      continue;
    OpBuilder::InsertionGuard guard(h.b);
    Block *body = &to->front();
    if (!body->empty())
      body->back().erase();
    h.b.setInsertionPointToEnd(body);
    if (failed(lowerBody(from->front(), h)))
      return failure();
    ValueRange given = from->front().getTerminator()->getOperands();
    copyBlocks(given, memory, h);
    scf::YieldOp::create(h.b, h.loc, scalarsOf(given, h));
  }
  bind(op.getResults(), branch.getResults(), memory, h);
  return success();
}

// Two sets of buffers: the condition may forward other blocks than it gets.
// Steps are charged for both regions at the condition.
static LogicalResult lowerWhile(scf::WhileOp op, HostBuilder &h) {
  // The initial values, and those that the condition forwards.
  SmallVector<Value> carried = buffersFor(op.getInits(), h),
                     passed = buffersFor(op.getResults(), h);
  copyBlocks(op.getInits(), carried, h);
  auto loop = scf::WhileOp::create(h.b, h.loc, scalarsOf(op.getResultTypes()),
                                   scalarsOf(op.getInits(), h));
  Location loc = h.loc;
  for (bool isBefore : {true, false}) {
    Block &from = (isBefore ? op.getBefore() : op.getAfter()).front();
    Region &to = isBefore ? loop.getBefore() : loop.getAfter();
    OpBuilder::InsertionGuard guard(h.b);
    SmallVector<Type> types = scalarsOf(from.getArgumentTypes());
    Block *body = h.b.createBlock(&to, to.end(), types,
                                  SmallVector<Location>(types.size(), loc));
    bind(from.getArguments(), body->getArguments(), isBefore ? carried : passed,
         h);
    if (failed(lowerBody(from, h)))
      return failure();
    if (auto condition = dyn_cast<scf::ConditionOp>(from.getTerminator())) {
      copyBlocks(condition.getArgs(), passed, h);
      Value goesOn = h.takeSteps({op.getBeforeBody(), op.getAfterBody()});
      goesOn = arith::AndIOp::create(h.b, h.loc, goesOn,
                                     h.scalar(condition.getCondition()));
      scf::ConditionOp::create(h.b, h.loc, goesOn,
                               scalarsOf(condition.getArgs(), h));
    } else {
      ValueRange next = from.getTerminator()->getOperands();
      copyBlocks(next, carried, h);
      scf::YieldOp::create(h.b, h.loc, scalarsOf(next, h));
    }
  }
  bind(op.getResults(), loop.getResults(), passed, h);
  return success();
}

LogicalResult act::tile::lowerControl(Operation *op, HostBuilder &h) {
  auto isCarried = [](Type t) {
    return HostBuilder::isBlock(t) || t.isIntOrIndexOrFloat();
  };
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (!isCarried(type))
        return op->emitOpError()
               << "carries a value of type " << type
               << ", expected blocks, integers, floats and index";
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return lowerFor(loop, h);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return lowerIf(branch, h);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return lowerWhile(loop, h);
  return op->emitOpError("is control flow that a kernel may not have, expected "
                         "scf.for, scf.if or scf.while");
}
