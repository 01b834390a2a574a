// SPDX-License-Identifier: Apache-2.0
#include "passes/act/LaunchBytes.h"
#include "passes/act/FormKernels.h"
#include "dialects/act/Flops.h"
#include "dialects/act/Types.h"
#include <set>

using namespace mlir;
using namespace act;

/// Bytes read and written in a parameter's persistent buffers.
static int64_t effectBytes(Operation *op, const FlatParameter &parameter) {
  auto type = cast<RankedTensorType>(parameter.op.getType());
  int64_t elements = elementCount(type), own = byteSize(type);
  Type gradient = type.getElementType();
  if (auto wide = parameter.op->getAttrOfType<TypeAttr>("act.gradient_type"))
    gradient = wide.getValue();
  int64_t grad = elements * (gradient.getIntOrFloatBitWidth() / 8);
  int64_t state =
      elements *
      (computeType(type.getElementType()).getIntOrFloatBitWidth() / 8);
  if (isa<ZeroGradOp, GradSquareSumOp>(op))
    return grad;
  if (isa<AccumulateOp>(op))
    return 2 * grad;
  int64_t states = (isa<AdamWOp>(op) ? 2 : 0) + (op->hasAttr("master") ? 1 : 0);
  // With a master copy the parameter is only written.
  return grad + (op->hasAttr("master") ? 1 : 2) * own + 2 * states * state;
}

int64_t act::readBytes(GroupOp group, unsigned input, int64_t whole) {
  int64_t rows = 0;
  BlockArgument argument = group.getBody().getArgument(input);
  for (OpOperand &use : argument.getUses()) {
    auto embedding = dyn_cast<EmbeddingOp>(use.getOwner());
    if (!embedding || use.get() != embedding.getTable())
      return whole;
    rows = flopsSum({rows, byteSize(embedding.getResult().getType())});
  }
  return argument.use_empty() ? whole : std::min(whole, rows);
}

int64_t act::leastBytes(const Program &program, const FlatLaunch &launch) {
  int64_t sum = 0;
  std::set<std::tuple<int, unsigned, int64_t>> read;
  for (auto [i, p] : llvm::enumerate(launch.inputs)) {
    bool number = p.kind == Place::Scalar || p.kind == Place::Immediate;
    if (!number && read.insert({int(p.kind), p.index, p.offset}).second)
      sum = flopsSum({sum, readBytes(launch.group, i, p.bytes)});
  }
  for (const Place &p : launch.results)
    sum = flopsSum({sum, p.bytes});
  unsigned effect = 0;
  for (Operation &op : launch.group.getBody().front())
    if (isa<AccumulateOp, AdamWOp, SgdOp, ZeroGradOp, GradSquareSumOp>(op))
      sum = flopsSum(
          {sum,
           effectBytes(&op, program.parameters[launch.effects[effect++]])});
  return sum;
}

int64_t act::kernelCount(const FlatLaunch &launch) {
  for (Operation &op : launch.group.getBody().front())
    if (auto grad = dyn_cast<AttentionGradOp>(op)) {
      auto asked = [](Value v) { return v && !v.use_empty(); };
      return (asked(grad.getDq()) || asked(grad.getDsinks())) +
             (asked(grad.getDk()) || asked(grad.getDv())) +
             asked(grad.getDbias());
    }
  return (ropeOfProduct(launch.group) ? 2 : 1) +
         sumsOfRows(launch.group).size();
}
