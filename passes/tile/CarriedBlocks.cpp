// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/CarriedBlocks.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

void act::tile::aliases(Value v, SmallVectorImpl<Value> &out) {
  auto ofLoop = [&](LoopLikeOpInterface loop, unsigned i) {
    out.push_back(loop.getInits()[i]);
    out.push_back(loop.getRegionIterArgs()[i]);
    out.push_back(loop.getYieldedValues()[i]);
    out.push_back((*loop.getLoopResults())[i]);
  };
  // An init or yielded value of scf.while is an argument of its "before"
  // region; what that region forwards is an argument of the "after" region and
  // a result.
  auto entering = [&](scf::WhileOp loop, unsigned i) {
    out.push_back(loop.getInits()[i]);
    out.push_back(loop.getBeforeArguments()[i]);
    out.push_back(loop.getYieldOp().getOperand(i));
  };
  auto leaving = [&](scf::WhileOp loop, unsigned i) {
    out.push_back(loop.getConditionOp().getArgs()[i]);
    out.push_back(loop.getAfterArguments()[i]);
    out.push_back(loop.getResult(i));
  };
  if (auto argument = dyn_cast<BlockArgument>(v))
    if (auto loop =
            dyn_cast<scf::WhileOp>(argument.getOwner()->getParentOp())) {
      if (argument.getOwner() == loop.getBeforeBody())
        entering(loop, argument.getArgNumber());
      else
        leaving(loop, argument.getArgNumber());
    }
  if (auto argument = dyn_cast<BlockArgument>(v))
    if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()))
      if (argument.getArgNumber() > 0)
        ofLoop(loop, argument.getArgNumber() - 1);
  if (auto result = dyn_cast<OpResult>(v)) {
    if (auto loop = dyn_cast<scf::ForOp>(result.getOwner()))
      ofLoop(loop, result.getResultNumber());
    if (auto loop = dyn_cast<scf::WhileOp>(result.getOwner()))
      leaving(loop, result.getResultNumber());
    if (auto branch = dyn_cast<scf::IfOp>(result.getOwner()))
      for (Region *r : {&branch.getThenRegion(), &branch.getElseRegion()})
        if (!r->empty())
          out.push_back(
              r->front().getTerminator()->getOperand(result.getResultNumber()));
  }
  for (OpOperand &use : v.getUses()) {
    Operation *user = use.getOwner();
    if (auto loop = dyn_cast<scf::ForOp>(user);
        loop && use.getOperandNumber() >= 3)
      ofLoop(loop, use.getOperandNumber() - 3);
    if (auto loop = dyn_cast<scf::WhileOp>(user))
      entering(loop, use.getOperandNumber());
    if (isa<scf::ConditionOp>(user) && use.getOperandNumber() > 0)
      leaving(cast<scf::WhileOp>(user->getParentOp()),
              use.getOperandNumber() - 1);
    if (isa<scf::YieldOp>(user)) {
      if (auto loop = dyn_cast<scf::WhileOp>(user->getParentOp()))
        entering(loop, use.getOperandNumber());
      if (auto loop = dyn_cast<scf::ForOp>(user->getParentOp()))
        ofLoop(loop, use.getOperandNumber());
      if (auto branch = dyn_cast<scf::IfOp>(user->getParentOp()))
        out.push_back(branch.getResult(use.getOperandNumber()));
    }
  }
}

void act::tile::handOn(Operation *op,
                       llvm::function_ref<void(OpOperand &, Value)> require) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (auto [i, init] : llvm::enumerate(loop.getInitArgsMutable()))
      require(init, loop.getResult(i));
    for (auto [i, yielded] :
         llvm::enumerate(loop.getBody()->getTerminator()->getOpOperands()))
      require(yielded, loop.getResult(i));
  }
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    for (auto [i, init] : llvm::enumerate(loop.getInitsMutable()))
      require(init, loop.getBeforeArguments()[i]);
    for (auto [i, yielded] :
         llvm::enumerate(loop.getYieldOp()->getOpOperands()))
      require(yielded, loop.getBeforeArguments()[i]);
    for (auto [i, left] :
         llvm::enumerate(loop.getConditionOp().getArgsMutable()))
      require(left, loop.getResult(i));
  }
  if (auto branch = dyn_cast<scf::IfOp>(op))
    for (Region *r : {&branch.getThenRegion(), &branch.getElseRegion()})
      if (!r->empty())
        for (auto [i, yielded] :
             llvm::enumerate(r->front().getTerminator()->getOpOperands()))
          require(yielded, branch.getResult(i));
}

void act::tile::retypeArguments(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    for (auto [argument, result] :
         llvm::zip(loop.getRegionIterArgs(), loop.getResults()))
      argument.setType(result.getType());
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    for (auto [argument, result] :
         llvm::zip(loop.getAfterArguments(), loop.getResults()))
      argument.setType(result.getType());
}
