// SPDX-License-Identifier: Apache-2.0
// The kernels of attention's gradient: one for each order of sums.
//
// The host's form has one kernel for dq and the sinks, one for dk and dv, and
// one for the bias, each complete in itself.
//
// The GPU's form computes the scores once. Programs go over blocks of keys,
// keep dk and dv, and add their part of dq to a workspace in turns:
//
//     Begin     delta; the zeros of sum, turns and ticket
//     Keys      dk, dv; sum += part of dq
//     Queries   dq = sum, scaled and rounded
//
// If only dq is needed, or only dk and dv, there are no turns: its rows loop
// over the others. The kernels exchange values through workspaces, because they
// are separate launches.
#include "dialects/act/AttentionLowering.h"
#include "dialects/act/KernelForm.h"
#include "dialects/act/LinalgBuilder.h"

using namespace mlir;
using namespace act;

namespace {

enum class Stage { Begin, Keys, Sinks, Bias, Queries };
enum Workspace { Sum, Delta, Turns, Ticket }; // as getWorkspaceTypes has them

bool isRead(Value v) { return v && !v.use_empty(); }

bool hasKeys(AttentionGradOp op) {
  return isRead(op.getDk()) || isRead(op.getDv());
}

/// The stages that make a result that is read. dq may overlap q, so Queries is
/// last: no kernel reads q after it.
SmallVector<Stage> stagesOf(AttentionGradOp op, LinalgForm form) {
  SmallVector<Stage> stages;
  bool onBlocks = form == LinalgForm::Sums, sinks = isRead(op.getDsinks());
  if (onBlocks)
    stages.push_back(Stage::Begin);
  if (hasKeys(op))
    stages.push_back(Stage::Keys);
  if (onBlocks && sinks)
    stages.push_back(Stage::Sinks);
  if (isRead(op.getDbias()))
    stages.push_back(Stage::Bias);
  if (isRead(op.getDq()) || (!onBlocks && sinks))
    stages.push_back(Stage::Queries);
  return stages;
}

/// A sum that divides into whole tiles of 8 rows is stored in tiles: the
/// elements of a row of dq, [.., s, heads, d]; else 0.
int64_t rowOfTiles(AttentionGradOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getDq());
  ArrayRef<int64_t> row = shape.take_back(2);
  return shape[shape.size() - 3] % 8 == 0 && row[1] % 8 == 0 ? row[0] * row[1]
                                                             : 0;
}

LogicalResult lowerForHost(AttentionGradOp op, StageBuilder &stage,
                           Stage which) {
  SmallVector<Value> operands = stage.operands(op), values;
  if (which == Stage::Bias) {
    Value dbias;
    if (failed(lowerAttentionGradBias(stage.b, op, operands, dbias)))
      return failure();
    stage.set(op.getDbias(), dbias);
    return success();
  }
  if (which == Stage::Keys) {
    if (failed(lowerAttentionGradKV(stage.b, op, operands, values)))
      return failure();
    stage.set(op.getDk(), values[0]);
    stage.set(op.getDv(), values[1]);
    return success();
  }
  if (failed(lowerAttentionGradQ(stage.b, op, operands, values)))
    return failure();
  stage.set(op.getDq(), values[0]);
  if (op.getDsinks())
    stage.set(op.getDsinks(), values[1]);
  return success();
}

LogicalResult lowerForBlocks(AttentionGradOp op, StageBuilder &stage,
                             Stage which) {
  OpBuilder &b = stage.b;
  SmallVector<Value> operands = stage.operands(op);
  bool inTurns = takesTurns(op);
  switch (which) {
  case Stage::Begin: {
    AttentionGradWorkspace begun;
    attentionGradBegin(b, op, operands, begun);
    if (inTurns)
      stage.write(Sum, begun.sum);
    stage.write(Delta, begun.delta);
    if (inTurns) {
      stage.write(Turns, begun.turns);
      stage.write(Ticket, begun.ticket);
    }
    return success();
  }
  case Stage::Keys: {
    Value dk, dv, added;
    if (failed(attentionGradKeys(b, op, operands, stage.read(Delta), dk, dv,
                                 added)))
      return failure();
    stage.set(op.getDk(), dk);
    stage.set(op.getDv(), dv);
    if (inTurns)
      stage.addInTurns(added, Sum, Turns, Ticket, rowOfTiles(op));
    return success();
  }
  case Stage::Queries: {
    Value dk, dv, sum, dq;
    if (inTurns)
      sum = stage.read(Sum, rowOfTiles(op));
    else if (failed(attentionGradKeys(b, op, operands, stage.read(Delta), dk,
                                      dv, sum)))
      return failure();
    attentionGradEnd(b, op, operands, sum, dq);
    stage.set(op.getDq(), dq);
    return success();
  }
  case Stage::Sinks: {
    Value dsinks;
    if (failed(attentionGradSinks(b, op, operands, stage.read(Delta), dsinks)))
      return failure();
    stage.set(op.getDsinks(), dsinks);
    return success();
  }
  case Stage::Bias: {
    Value dbias;
    if (failed(attentionGradBias(b, op, operands, stage.read(Delta), dbias)))
      return failure();
    stage.set(op.getDbias(), dbias);
    return success();
  }
  }
  llvm_unreachable("no stage of attention's gradient");
}

} // namespace

SmallVector<KernelStage> AttentionGradOp::getStages(LinalgForm form) {
  SmallVector<KernelStage> stages;
  SmallVector<Stage> all = stagesOf(*this, form);
  // Without gradients of keys, the rows of queries are the main kernel, and
  // else what computes scores for another result.
  Stage main = hasKeys(*this) || all.empty() ? Stage::Keys : all.back();
  for (Stage stage : all)
    stages.push_back(
        {stages.empty() ? KernelStage::Main : KernelStage::Own, stage == main});
  return stages;
}

LogicalResult AttentionGradOp::lowerStage(StageBuilder &stage,
                                          unsigned number) {
  Stage which = stagesOf(*this, stage.form)[number];
  return stage.form == LinalgForm::Sums ? lowerForBlocks(*this, stage, which)
                                        : lowerForHost(*this, stage, which);
}
