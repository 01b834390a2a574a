// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/BlockMath.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/tile/FuseLoops.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

using namespace mlir;
using namespace act::tile;

bool act::tile::isOfLoop(Operation *op) {
  if (op->getParentOfType<scf::ForOp>())
    return true;
  SetVector<Operation *> readers;
  readers.insert(op);
  for (size_t i = 0; i < readers.size(); ++i)
    for (OpOperand &use : readers[i]->getUses()) {
      if (isa<DotOp>(use.getOwner()) && use.getOperandNumber() < 2)
        return true;
      readers.insert(use.getOwner());
    }
  return false;
}

Value act::tile::behindRepeats(Value v, SmallVectorImpl<Operation *> &ops) {
  Along none;
  while (Value inner = behindShape(v, none)) {
    ops.push_back(v.getDefiningOp());
    v = inner;
  }
  return v;
}

Value act::tile::repeated(Value v, ArrayRef<Operation *> repeats,
                          OpBuilder &b) {
  for (Operation *repeat : llvm::reverse(repeats)) {
    Operation *copy = b.clone(*repeat);
    copy->setOperand(0, v);
    v = copy->getResult(0);
  }
  return v;
}

bool act::tile::isF32(Value v) {
  return getElementTypeOrSelf(v.getType()).isF32();
}

Value act::tile::splat(OpBuilder &b, Location loc, Type type, double number) {
  TypedAttr value = b.getFloatAttr(getElementTypeOrSelf(type), number);
  if (auto block = dyn_cast<RankedTensorType>(type))
    value = DenseElementsAttr::get(block, value);
  return arith::ConstantOp::create(b, loc, value);
}

Scaled act::tile::scaledOf(Value v) {
  if (auto mul = v.getDefiningOp<arith::MulFOp>())
    for (unsigned i : {1u, 0u})
      if (auto k = constantOf(mul->getOperand(i)))
        if (std::isnormal(*k))
          return {mul->getOperand(1 - i), *k};
  return {v};
}
