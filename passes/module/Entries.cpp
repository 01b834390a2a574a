// SPDX-License-Identifier: Apache-2.0
#include "passes/module/Entries.h"
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace act {

LogicalResult checkEntries(ModuleOp module) {
  for (StringRef name : {StringRef(forwardName), StringRef(gradName),
                         StringRef(updateName), StringRef(stepName)}) {
    Operation *entry = module.lookupSymbol(name);
    if (!entry)
      continue;
    auto f = dyn_cast<func::FuncOp>(entry);
    if (!f)
      return emitError(entry->getLoc())
             << "@" << name << " is not a function but an " << entry->getName();
    if (f.isExternal())
      return emitError(f.getLoc())
             << "@" << name << " is declared here and has no body";
    if (!f.getBody().hasOneBlock())
      return emitError(f.getLoc())
             << "@" << name << " is not one straight block of ops";
  }
  // @grad may be written by hand. Later stages take its first result for the
  // loss without looking again.
  auto grad = module.lookupSymbol<func::FuncOp>(gradName);
  if (!grad)
    return success();
  if (!grad.getNumResults())
    return emitError(grad.getLoc())
           << "@" << gradName
           << " has no results, expected the loss (a float tensor of rank 0)";
  auto loss = dyn_cast<RankedTensorType>(grad.getResultTypes()[0]);
  if (!loss || loss.getRank() || !isa<FloatType>(loss.getElementType()))
    return emitError(grad.getLoc())
           << "@" << gradName << "'s first result is "
           << grad.getResultTypes()[0]
           << ", expected the loss (a float tensor of rank 0)";
  return success();
}

bool returnsLoss(ModuleOp module) {
  auto f = module.lookupSymbol<func::FuncOp>(forwardName);
  auto type = f && f.getNumResults()
                  ? dyn_cast<RankedTensorType>(f.getResultTypes()[0])
                  : RankedTensorType();
  return type && type.getRank() == 0 && isa<FloatType>(type.getElementType());
}

std::string mainFunction(ModuleOp module) {
  for (StringRef name :
       {StringRef(stepName), StringRef(gradName), StringRef(forwardName)})
    if (module.lookupSymbol(name))
      return name.str();
  return forwardName.str();
}

bool kernelsFormed(ModuleOp module) {
  return module.walk([](GroupOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

} // namespace act
