// SPDX-License-Identifier: Apache-2.0
#include "passes/step/DeriveInference.h"
#include "dialects/act/AttrNames.h"
#include "dialects/act/Types.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/module/Entries.h"
#include "passes/module/EraseDead.h"

using namespace mlir;

namespace act {

// `f` and all functions that it calls, directly or not.
static void collect(func::FuncOp f, SymbolTable &symbols,
                    DenseSet<Operation *> &seen) {
  if (!f || !seen.insert(f).second)
    return;
  f.walk([&](Operation *op) {
    if (auto repeat = dyn_cast<RepeatOp>(op))
      collect(symbols.lookup<func::FuncOp>(repeat.getCallee()), symbols, seen);
    if (auto call = dyn_cast<func::CallOp>(op))
      collect(symbols.lookup<func::FuncOp>(call.getCallee()), symbols, seen);
  });
}

// Dropout scales while training, so without it the value is its input.
static void removeDropout(func::FuncOp f) {
  f.walk([](Operation *op) {
    if (auto dropout = dyn_cast<DropoutOp>(op)) {
      dropout.getResult().replaceAllUsesWith(dropout.getInput());
      dropout.erase();
    } else if (auto attention = dyn_cast<AttentionOp>(op)) {
      attention.removeDropoutAttr();
      attention.getSeedMutable().clear();
      attention.getStepMutable().clear();
      attention.getSiteMutable().clear();
    }
  });
}

// A layer that both @forward and @step call keeps its dropout: training must
// not change.
void stripDropout(ModuleOp module) {
  SymbolTable symbols(module);
  DenseSet<Operation *> forward, training;
  collect(symbols.lookup<func::FuncOp>(forwardName), symbols, forward);
  collect(symbols.lookup<func::FuncOp>(stepName), symbols, training);
  for (Operation *f : forward)
    if (!training.contains(f))
      removeDropout(cast<func::FuncOp>(f));
}

// The logits are the operand of the loss. If the loss is fused with the head,
// the module has no such value, and it is built from the head's operands.
LogicalResult deriveInference(ModuleOp module) {
  if (failed(checkEntries(module)))
    return failure();
  SymbolTable symbols(module);
  auto forward = symbols.lookup<func::FuncOp>(forwardName);
  if (!forward)
    return emitError(module.getLoc(), "the module has no function @forward");
  if (kernelsFormed(module))
    return emitError(module.getLoc(), "the module is already in kernel form; "
                                      "inference starts from the model itself");
  forward->removeAttr(differentiableAttr);
  for (unsigned i = 0; i < forward.getNumArguments(); ++i)
    forward.removeArgAttr(i, requiresGradAttr);
  DenseSet<Operation *> keep;
  collect(forward, symbols, keep);
  for (auto f : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (!keep.contains(f))
      f.erase();
  for (Operation *f : keep)
    removeDropout(cast<func::FuncOp>(f));

  Block &body = forward.getBody().front();
  Operation *ret = body.getTerminator();
  Value loss = ret->getNumOperands() ? ret->getOperand(0) : Value();
  Operation *def = loss ? loss.getDefiningOp() : nullptr;
  Value logits;
  if (auto ce = dyn_cast_or_null<CrossEntropyOp>(def)) {
    logits = ce.getLogits();
  } else if (auto fused = dyn_cast_or_null<LinearCrossEntropyOp>(def)) {
    OpBuilder b(fused);
    logits = fused.buildLogits(b);
  }
  if (!logits)
    return success();
  ret->setOperands(logits);
  eraseDead(body);
  llvm::BitVector unused(body.getNumArguments());
  for (auto [i, a] : llvm::enumerate(body.getArguments()))
    if (a.use_empty())
      unused.set(i);
  (void)forward.eraseArguments(unused);
  forward.setType(FunctionType::get(
      forward.getContext(), body.getArgumentTypes(), ret->getOperandTypes()));
  forward.removeResAttrsAttr();
  forward.setResultAttr(0, nameAttr,
                        StringAttr::get(forward.getContext(), "logits"));
  return success();
}

} // namespace act
