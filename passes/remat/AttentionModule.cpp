// SPDX-License-Identifier: Apache-2.0
//
// Follows operands and users from a softmax or a fused attention. The walk
// stops at products, which bound both the core and the module.
#include "passes/remat/AttentionModule.h"

using namespace mlir;

namespace act {

static bool isProduct(Operation *op) { return isa<LinearOp, MatmulOp>(op); }

// From a softmax back to the product of Q and K, and forward to that with V.
static void addUnfusedCore(SoftmaxOp softmax, DenseSet<Operation *> &core) {
  SmallVector<Operation *> work{softmax};
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (!op || !core.insert(op).second || isa<MatmulOp>(op))
      continue;
    // Operands of lower rank, such as masks and constants, are not scores.
    for (Value v : op->getOperands())
      if (Operation *def = v.getDefiningOp();
          def && isa<RankedTensorType>(v.getType()) &&
          cast<RankedTensorType>(v.getType()).getRank() >= 3)
        work.push_back(def);
  }
  work.assign(softmax->getUsers().begin(), softmax->getUsers().end());
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (op->hasTrait<OpTrait::IsTerminator>() || isa<LinearOp>(op) ||
        !core.insert(op).second || isa<MatmulOp>(op))
      continue;
    work.append(op->getUsers().begin(), op->getUsers().end());
  }
}

// The module is bounded by products in both directions: the projections belong
// to it, the output projection does not.
DenseSet<Operation *> attentionModule(Block &body, bool coreOnly) {
  DenseSet<Operation *> core;
  for (Operation &op : body) {
    if (isa<AttentionOp>(op))
      core.insert(&op);
    if (auto softmax = dyn_cast<SoftmaxOp>(op))
      addUnfusedCore(softmax, core);
  }
  if (coreOnly)
    return core;
  DenseSet<Operation *> module = core;
  SmallVector<Operation *> work(core.begin(), core.end());
  DenseSet<Operation *> seen(core.begin(), core.end());
  // Backward up to and including the projections.
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (isa<LinearOp>(op))
      continue;
    for (Value v : op->getOperands())
      if (Operation *def = v.getDefiningOp();
          def && isa<RankedTensorType>(v.getType()) &&
          seen.insert(def).second) {
        module.insert(def);
        work.push_back(def);
      }
  }
  // Forward up to the output projection, which stays outside.
  work.assign(core.begin(), core.end());
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    for (Operation *user : op->getUsers())
      if (!isProduct(user) && !user->hasTrait<OpTrait::IsTerminator>() &&
          isa<TransposeOp, ReshapeOp, CastOp>(user) &&
          module.insert(user).second)
        work.push_back(user);
  }
  return module;
}

} // namespace act
