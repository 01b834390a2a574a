// SPDX-License-Identifier: Apache-2.0
#include "test/passes/own-ops/OwnOps.h"
#include "dialects/act/LinalgBuilder.h"

using namespace mlir;
using namespace act;
using namespace own;

#include "test/passes/own-ops/OwnOpsDialect.cpp.inc"
#define GET_OP_CLASSES
#include "test/passes/own-ops/OwnOps.cpp.inc"

void OwnDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "test/passes/own-ops/OwnOps.cpp.inc"
      >();
}

int64_t TallyOp::getFlops() { return 2 * elementCount(getInput().getType()); }
CostClass TallyOp::getCostClass() { return CostClass::Effect; }
bool TallyOp::takesEpilogue() { return true; }

SmallVector<KernelStage> TallyOp::getStages(LinalgForm) {
  return {{KernelStage::Main}, {KernelStage::Last}};
}

SmallVector<RankedTensorType> TallyOp::getWorkspaceTypes() {
  return {getResult().getType()};
}

LogicalResult TallyOp::lowerStage(StageBuilder &stage, unsigned number) {
  if (number == 0) {
    Value input = stage.lookup(getInput());
    LinalgBuilder l(stage.b, getLoc(), {input.getType()});
    stage.write(
        0, l.map(shapeOf(input), {l.whole(input)}, elementOf(input),
                 [](Scalars &s, ValueRange x) { return s.mul(x[0], s.f(2)); }));
    return success();
  }
  stage.set(getResult(), stage.read(0));
  return stage.lowerEffect(*this);
}

SmallVector<BufferUse> TallyOp::getBufferUses() {
  return {{ParameterBuffer::Gradient, BufferUse::Update}};
}

// What is added is the result of this kernel, which lowerStage has set.
void TallyOp::lowerEffect(OpBuilder &b, ArrayRef<RankedTensorType>,
                          ArrayRef<Value> buffers, ValueRange operands,
                          SmallVectorImpl<Value> &next,
                          SmallVectorImpl<Value> &results) {
  Value gradient = buffers[0], input = operands[0];
  LinalgBuilder l(b, getLoc(), {gradient.getType()});
  next.push_back(l.map(shapeOf(gradient), {l.whole(gradient), l.whole(input)},
                       elementOf(gradient), [](Scalars &s, ValueRange x) {
                         return s.add(x[0], s.mul(x[1], s.f(2)));
                       }));
}
