// SPDX-License-Identifier: Apache-2.0
#include "passes/module/Entries.h"
#include "dialects/act/AttrNames.h"
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace act {

static LogicalResult checkAttributes(func::FuncOp f) {
  bool function = f->hasAttr(differentiableAttr);
  llvm::StringSet<> names;
  for (unsigned i = 0; i < f.getNumArguments(); ++i) {
    if (auto name = f.getArgAttrOfType<StringAttr>(i, nameAttr))
      names.insert(name.getValue());
    if (!f.getArgAttr(i, requiresGradAttr))
      continue;
    auto tensor = dyn_cast<RankedTensorType>(f.getArgumentTypes()[i]);
    if (!function)
      return emitError(f.getLoc())
             << "argument " << i << " of @" << f.getName() << " has "
             << requiresGradAttr << ", but the function is not "
             << differentiableAttr;
    if (!tensor || !isa<FloatType>(tensor.getElementType()))
      return emitError(f.getLoc())
             << "argument " << i << " of @" << f.getName() << " has "
             << requiresGradAttr << ", but " << f.getArgumentTypes()[i]
             << " has no gradient: expected a tensor of floats";
  }
  for (unsigned i = 0; i < f.getNumResults(); ++i)
    if (Attribute updates = f.getResultAttr(i, updatesAttr))
      if (auto name = dyn_cast<StringAttr>(updates);
          !name || !names.contains(name.getValue()))
        return emitError(f.getLoc())
               << "result " << i << " of @" << f.getName() << " has "
               << updatesAttr << " = " << updates
               << ", which names no argument of it";
  return success();
}

bool isEntry(StringRef name) {
  return llvm::is_contained({forwardName, gradName, updateName, stepName},
                            name);
}

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
    if (failed(checkAttributes(f)))
      return failure();
  }
  // @grad may be written by hand. Later stages take its first result for the
  // loss without looking again.
  auto grad = module.lookupSymbol<func::FuncOp>(gradName);
  if (!grad || isDifferentiableFunction(module))
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

bool isDifferentiableFunction(ModuleOp module) {
  Operation *f = module.lookupSymbol(forwardName);
  if (!f)
    f = module.lookupSymbol(gradName);
  return f && f->hasAttr(differentiableAttr);
}

bool hasBackward(ModuleOp module) {
  return returnsLoss(module) || isDifferentiableFunction(module);
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
