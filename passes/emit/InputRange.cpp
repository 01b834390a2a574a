// SPDX-License-Identifier: Apache-2.0
#include "passes/emit/InputRange.h"
#include "dialects/act/AttrNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/module/Entries.h"

using namespace mlir;

namespace act {

// `v`, traced through groups and reshapes: at a late stage an embedding is
// inside a group, and the tokens are an operand of that group.
static Value origin(Value v) {
  while (true) {
    if (auto argument = dyn_cast<BlockArgument>(v)) {
      auto group = dyn_cast<GroupOp>(argument.getOwner()->getParentOp());
      if (!group)
        return v;
      v = group.getInputs()[argument.getArgNumber()];
    } else if (auto group = v.getDefiningOp<GroupOp>()) {
      Operation *yield = group.getBody().front().getTerminator();
      v = yield->getOperand(cast<OpResult>(v).getResultNumber());
    } else if (auto reshape = v.getDefiningOp<ReshapeOp>()) {
      v = reshape->getOperand(0);
    } else {
      return v;
    }
  }
}

// An index is valid if every table that it indexes has that row, so the bound
// is the smallest table.
InputRange inputRange(ModuleOp module) {
  InputRange range;
  auto lower = [](uint64_t &bound, uint64_t rows) {
    bound = bound ? std::min(bound, rows) : rows;
  };
  auto model = module.lookupSymbol<func::FuncOp>(forwardName);
  if (!model)
    model = module.lookupSymbol<func::FuncOp>(gradName);
  if (!model)
    return range;
  model.walk([&](EmbeddingOp op) {
    Value ids = origin(op.getIds());
    uint64_t rows =
        cast<RankedTensorType>(op.getTable().getType()).getDimSize(0);
    if (ids.getDefiningOp<PositionsOp>())
      return lower(range.maxPositions, rows);
    auto argument = dyn_cast<BlockArgument>(ids);
    if (!argument || argument.getOwner()->getParentOp() != model)
      return;
    auto name =
        model.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nameAttr);
    if (name && name.getValue() == "tokens")
      lower(range.vocabulary, rows);
  });
  return range;
}

} // namespace act
