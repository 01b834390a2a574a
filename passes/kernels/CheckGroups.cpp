// SPDX-License-Identifier: Apache-2.0
//
// What later phases take for granted about a module in kernel form.
#include "dialects/act/Types.h"
#include "passes/kernels/Flatten.h"
#include "passes/kernels/FormKernels.h"
#include "passes/kernels/Passes.h"

namespace act {
#define GEN_PASS_DEF_CHECKGROUPSPASS
#include "passes/kernels/Passes.h.inc"
} // namespace act

using namespace mlir;
using namespace act;

namespace {

/// Whether `op` only says where a value is, or what happens between kernels.
bool mayStandOutside(Operation &op) {
  auto split = dyn_cast<SplitOp>(op);
  return isa<ParamOp, RepeatOp, PhaseOp, KeptOp, SiteOp, ReshapeOp,
             func::CallOp>(op) ||
         (split && isSlice(split)) || op.hasTrait<OpTrait::IsTerminator>();
}

LogicalResult check(GroupOp group) {
  SmallVector<Type> needed;
  for (Operation &op : group.getBody().front().without_terminator()) {
    if (!isa<LinalgOpInterface, ParameterEffectOpInterface, OffloadOp, FetchOp>(
            op))
      return op.emitOpError("is in a group, but has no linalg form");
    if (auto kernel = dyn_cast<KernelOpInterface>(op))
      llvm::append_range(needed, kernel.getWorkspaceTypes());
  }
  if (!llvm::equal(group.getWorkspaceTypes(), needed))
    return group.emitOpError() << "has the workspaces " << group.getWorkspace()
                               << "; its ops need (" << needed << ")";
  for (auto [r, i] : llvm::enumerate(group.getInplace())) {
    if (i < 0)
      continue;
    Value operand = group.getInputs()[i];
    if (operand.getDefiningOp<ParamOp>())
      return group.emitOpError() << "lets result " << r << " overwrite operand "
                                 << i << ", a parameter";
    for (Operation *user : operand.getUsers())
      if (user->getBlock() == group->getBlock() &&
          group->isBeforeInBlock(user)) {
        InFlightDiagnostic error =
            group.emitOpError() << "lets result " << r << " overwrite operand "
                                << i << ", which is read later";
        error.attachNote(user->getLoc()) << "here";
        return error;
      }
  }
  return success();
}

struct CheckGroups : act::impl::CheckGroupsPassBase<CheckGroups> {
  void runOnOperation() override {
    if (failed(checkGroups(getOperation())))
      signalPassFailure();
  }
};

} // namespace

LogicalResult act::checkGroups(ModuleOp module) {
  for (auto f : module.getOps<func::FuncOp>())
    for (Block &block : f.getBody())
      for (Operation &op : block) {
        auto group = dyn_cast<GroupOp>(op);
        if (group ? failed(check(group)) : !mayStandOutside(op)) {
          if (!group)
            op.emitOpError("is in no group");
          return failure();
        }
      }
  return success();
}
