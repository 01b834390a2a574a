// SPDX-License-Identifier: Apache-2.0
// Costs of the optimizer's ops: per element of one layer of the parameter.
#include "dialects/act/Flops.h"
#include "dialects/act/Types.h"

using namespace mlir;
using namespace act;

/// Updates have no tensor operands: the size is that of the parameter they
/// name.
static int64_t parameterElements(Operation *op, FlatSymbolRefAttr name) {
  auto parameter = SymbolTable::lookupNearestSymbolFrom<ParameterOp>(op, name);
  return parameter ? elementCount(cast<RankedTensorType>(parameter.getType()))
                   : 0;
}

#define UPDATE_COST(OP, PER_ELEMENT)                                           \
  int64_t OP::getFlops() {                                                     \
    return flopsProduct(                                                       \
        {PER_ELEMENT, parameterElements(*this, getNameAttr())});               \
  }                                                                            \
  CostClass OP::getCostClass() { return CostClass::Effect; }
UPDATE_COST(ZeroGradOp, 0)
UPDATE_COST(AdamWOp, 15)
UPDATE_COST(AdamW8bitOp, 15)
UPDATE_COST(LionOp, 9)
UPDATE_COST(GradSquareSumOp, 2)

int64_t SgdOp::getFlops() {
  int64_t each = 2 + (getMomentum() ? 2 : 0) + (getWeightDecay() ? 2 : 0);
  return flopsProduct({each, parameterElements(*this, getNameAttr())});
}
CostClass SgdOp::getCostClass() { return CostClass::Effect; }

int64_t ClipOp::getFlops() {
  return (getMaxNorm() ? 3 : 0) + (getScale() ? 2 : 0);
}
CostClass ClipOp::getCostClass() { return CostClass::Cheap; }
int64_t GradNormOp::getFlops() { return 1 + (getScale() ? 1 : 0); }
CostClass GradNormOp::getCostClass() { return CostClass::Cheap; }
