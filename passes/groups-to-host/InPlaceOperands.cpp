// SPDX-License-Identifier: Apache-2.0
//
// Looks for results in place whose elementwise op reads the operand
// that they replace, with the same map.
#include "passes/groups-to-host/InPlaceOperands.h"
#include "dialects/act/Dialect.h"
#include "passes/groups-to-host/Passes.h"

using namespace mlir;

namespace {

Value throughReshapes(Value value) {
  while (value.getDefiningOp<tensor::ExpandShapeOp>() ||
         value.getDefiningOp<tensor::CollapseShapeOp>())
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// Makes input `from` of `op` the destination of result `to`; both have the
/// same indexing map and the destination's old value is not used.
linalg::GenericOp moveInput(linalg::GenericOp op, unsigned from, unsigned to) {
  OpBuilder builder(op);
  unsigned numInputs = op.getNumDpsInputs();
  SmallVector<Value> inputs, outputs(op.getDpsInits());
  SmallVector<AffineMap> maps;
  for (unsigned i = 0; i < numInputs; ++i)
    if (i != from) {
      inputs.push_back(op.getDpsInputs()[i]);
      maps.push_back(op.getIndexingMapsArray()[i]);
    }
  for (unsigned i = 0; i < outputs.size(); ++i)
    maps.push_back(op.getIndexingMapsArray()[numInputs + i]);
  outputs[to] = op.getDpsInputs()[from];
  auto moved = linalg::GenericOp::create(builder, op.getLoc(),
                                         op.getResultTypes(), inputs, outputs,
                                         maps, op.getIteratorTypesArray());
  moved.getRegion().takeBody(op.getRegion());
  Block *body = moved.getBody();
  body->getArgument(from).replaceAllUsesWith(body->getArgument(numInputs + to));
  body->eraseArgument(from);
  op->replaceAllUsesWith(moved);
  op.erase();
  return moved;
}

} // namespace

// Only where the maps are equal: an op that reads the operand transposed still
// needs the old values after it has written some.
void act::readInPlaceOperandsThroughOutputs(func::FuncOp func) {
  Operation *terminator = func.getBody().front().getTerminator();
  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    ArgumentRoleAttr role = roleOf(func, i);
    if (!role || role.getKind() != ArgumentRoleKind::InPlace)
      continue;
    auto result = dyn_cast<OpResult>(
        throughReshapes(terminator->getOperand(role.getResult())));
    auto op = result ? dyn_cast<linalg::GenericOp>(result.getOwner()) : nullptr;
    if (!op || op.getNumReductionLoops())
      continue;
    unsigned to = result.getResultNumber();
    if (!op.getRegionOutputArgs()[to].use_empty())
      continue;
    AffineMap outMap = op.getIndexingMapsArray()[op.getNumDpsInputs() + to];
    for (unsigned from = 0; from < op.getNumDpsInputs(); ++from) {
      Value input = op.getDpsInputs()[from];
      if (throughReshapes(input) == func.getArgument(i) &&
          input.getType() == result.getType() &&
          op.getIndexingMapsArray()[from] == outMap) {
        moveInput(op, from, to);
        break;
      }
    }
  }
}
