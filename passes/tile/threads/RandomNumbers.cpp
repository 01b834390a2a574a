// SPDX-License-Identifier: Apache-2.0
//
// A random number generator keeps four words live for each number that it makes
// in 40 instructions. Op by op, a thread would hold the words of all its
// elements. So all ops are done for one register, then for the next. This
// happens where the numbers are needed: a mask of 64 elements waiting for
// products and exponentials also takes 64 registers.
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/tile/threads/ThreadBuilder.h"

using namespace mlir;
using namespace act::tile;

/// One value for all registers.
static bool isUniform(Operation &op) {
  return isa<arith::ConstantOp, tensor::SplatOp>(op);
}

/// The layout of the blocks that `op` computes register by register from blocks
/// of the same layout; null if it does not.
static Attribute layoutOf(Operation &op) {
  if (!op.hasTrait<OpTrait::Elementwise>() || op.getNumResults() == 0 ||
      isa<arith::TruncFOp>(op)) // rounds two registers at once
    return {};
  Attribute layout;
  auto isOther = [&](Type type) {
    auto block = dyn_cast<RankedTensorType>(type);
    if (!block || (layout && block.getEncoding() != layout))
      return true;
    layout = block.getEncoding();
    return false;
  };
  if (llvm::any_of(op.getOperandTypes(), isOther) ||
      llvm::any_of(op.getResultTypes(), isOther))
    return {};
  return layout;
}

Ops act::tile::registerByRegister(Ops ops) {
  if (ops.empty() || ops.begin()->getNumResults() == 0 ||
      !getElementTypeOrSelf(ops.begin()->getResultTypes()[0]).isIntOrIndex())
    return {ops.begin(), ops.begin()}; // must begin with an element's number
  Attribute layout;
  auto end = ops.begin();
  for (; end != ops.end(); ++end) {
    if (isUniform(*end))
      continue;
    Attribute own = layoutOf(*end);
    if (!own || (layout && own != layout))
      break;
    layout = own;
  }
  return {ops.begin(), end};
}

bool act::tile::drawNumbers(Ops ops) {
  return llvm::any_of(ops, llvm::IsaPred<arith::MulUIExtendedOp>);
}

// Before the kernel is lowered: the run moves as a whole to the first op that
// uses one of its numbers.
void act::tile::sinkRandomNumbers(Operation *kernel) {
  kernel->walk([](Block *block) {
    for (auto it = block->begin(); it != block->end();) {
      Ops ops = registerByRegister({it, block->end()});
      it = ops.empty() ? std::next(it) : ops.end();
      if (!drawNumbers(ops))
        continue;
      SmallVector<Operation *> each;
      for (Operation &op : ops)
        if (!isUniform(op))
          each.push_back(&op);
      Operation *first = nullptr;
      for (Operation *op : each)
        for (Operation *user : op->getUsers()) {
          Operation *at = block->findAncestorOpInBlock(*user);
          if (!llvm::is_contained(each, at) &&
              (!first || at->isBeforeInBlock(first)))
            first = at;
        }
      if (first)
        for (Operation *op : each)
          op->moveBefore(first);
    }
  });
}

LogicalResult act::tile::lowerByRegister(Ops ops, ThreadBuilder &t) {
  SmallVector<Operation *> each;
  int64_t registers = 0;
  for (Operation &op : ops) {
    if (isUniform(op)) {
      if (failed(lowerOp(&op, t)))
        return failure();
      continue;
    }
    each.push_back(&op);
    registers = t.registersOf(op.getResultTypes()[0]);
    for (Value v : op.getResults())
      t.set(v, Registers(registers));
  }
  for (int64_t r = 0; r < registers; ++r)
    for (Operation *op : each)
      for (auto [from, to] :
           llvm::zip_equal(op->getResults(), onScalars(op, t, r)))
        t.set(from, r, to);
  return success();
}
