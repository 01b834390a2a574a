// SPDX-License-Identifier: Apache-2.0
//
// What later phases take for granted about a module in kernel form.
#include "dialects/act/KernelForm.h"
#include "dialects/act/Types.h"
#include "passes/kernels/Flatten.h"
#include "passes/kernels/FormKernels.h"
#include "passes/kernels/InPlace.h"
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
  return isa<ParamOp, RepeatOp, PhaseOp, KeptOp, SiteOp, ReshapeOp,
             func::CallOp>(op) ||
         isSlice(&op) || op.hasTrait<OpTrait::IsTerminator>();
}

LogicalResult check(GroupOp group, SymbolTable &symbols) {
  SmallVector<Type> needed;
  for (Operation &op : group.getBody().front().without_terminator()) {
    if (!isa<LinalgOpInterface, ParameterEffectOpInterface, OffloadOp, FetchOp>(
            op))
      return op.emitOpError("is in a group, but has no linalg form");
    if (auto kernel = dyn_cast<KernelOpInterface>(op))
      llvm::append_range(needed, kernel.getWorkspaceTypes());
    auto effect = dyn_cast<ParameterEffectOpInterface>(op);
    if (effect &&
        !symbols.lookup<ParameterOp>(effect.getParameterName().getValue()))
      return op.emitOpError()
             << "names no parameter: " << effect.getParameterName();
  }
  // Stages count the workspaces of their ops from the first.
  auto types = llvm::to_vector(group.getWorkspaceTypes());
  if (!ArrayRef(types).take_front(needed.size()).equals(needed))
    return group.emitOpError() << "has the workspaces (" << types
                               << "); its ops need (" << needed << ")";
  Operation *yield = group.getBody().front().getTerminator();
  for (auto [r, i] : llvm::enumerate(group.getInplace())) {
    if (i < 0)
      continue;
    if (group.getInputs()[i].getDefiningOp<ParamOp>())
      return group.emitOpError() << "lets result " << r << " overwrite operand "
                                 << i << ", a parameter";
    Value made = yield->getOperand(r);
    if (made == group.getBody().front().getArgument(i))
      continue; // it stays where it is
    Operation *def = made.getDefiningOp();
    if (!def || !mayOverwrite(group, i, def))
      return group.emitOpError()
             << "lets result " << r << " overwrite operand " << i
             << ", which it does not read element by element, or which is read "
                "for another result";
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
  SymbolTable symbols(module);
  for (auto f : module.getOps<func::FuncOp>()) {
    if (f.getBody().empty())
      continue;
    if (!f.getBody().hasOneBlock())
      return emitError(f.getLoc())
             << "@" << f.getName() << " is not one straight block of ops";
    for (Operation &op : f.getBody().front()) {
      if (auto group = dyn_cast<GroupOp>(op)) {
        if (failed(check(group, symbols)))
          return failure();
      } else if (!mayStandOutside(op)) {
        // A constant stands outside because of an op that reads it; that one is
        // reported.
        bool byReader =
            isFree(&op) && llvm::any_of(op.getUsers(), [](Operation *user) {
              return !isa<GroupOp>(user) && !mayStandOutside(*user);
            });
        if (!byReader)
          return op.emitOpError("is in no group");
      }
    }
  }
  return success();
}
