// SPDX-License-Identifier: Apache-2.0
#include "dialects/act/KernelForm.h"

using namespace mlir;
using namespace act;

static bool answers(Operation *op, bool (KernelOpInterface::*question)()) {
  if (isa<ElementwiseOpInterface>(op))
    return true;
  auto kernel = dyn_cast<KernelOpInterface>(op);
  return kernel && (kernel.*question)();
}

bool act::isElementwise(Operation *op) {
  return answers(op, &KernelOpInterface::isElementwise);
}
bool act::readsElementwise(Operation *op) {
  return answers(op, &KernelOpInterface::readsElementwise);
}
bool act::takesEpilogue(Operation *op) {
  return answers(op, &KernelOpInterface::takesEpilogue);
}
bool act::takesAccumulation(Operation *op) {
  return answers(op, &KernelOpInterface::takesAccumulation);
}

bool act::isFree(Operation *op) {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  return kernel && kernel.isFree();
}

bool act::takesRowSum(Operation *op, Operation *sum) {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  return kernel && kernel.takesRowSum(sum);
}

Value act::beforeReshapes(Value v) {
  while (auto reshape = v.getDefiningOp<ReshapeOp>())
    v = reshape.getInput();
  return v;
}

SmallVector<Value> StageBuilder::operands(Operation *op) {
  return llvm::map_to_vector(op->getOperands(),
                             [&](Value v) { return lookup(v); });
}
