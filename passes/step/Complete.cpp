// SPDX-License-Identifier: Apache-2.0
#include "passes/step/Complete.h"
#include "passes/autodiff/Autodiff.h"
#include "passes/kernels/FormKernels.h"
#include "passes/module/Entries.h"
#include "passes/step/WriteStep.h"

using namespace mlir;

namespace act {

bool lacksGradient(ModuleOp module) {
  return kernelsFormed(module) && hasBackward(module) &&
         !module.lookupSymbol(gradName) &&
         llvm::any_of(module.getOps<ParameterOp>(),
                      [](ParameterOp p) { return !p.getFrozen(); });
}

// In kernel form the choice of stages is over: groups of a forward pass cannot
// be differentiated. lacksGradient() tells callers that this is the case.
LogicalResult completeModule(ModuleOp module) {
  if (failed(checkEntries(module)))
    return failure();
  if (!kernelsFormed(module) && hasBackward(module)) {
    bool trains = llvm::any_of(module.getOps<ParameterOp>(),
                               [](ParameterOp p) { return !p.getFrozen(); });
    bool function = isDifferentiableFunction(module);
    if ((trains || function) && !module.lookupSymbol(gradName) &&
        failed(differentiate(module)))
      return failure();
    if (!function && module.lookupSymbol(gradName) && !module.lookupSymbol(stepName) &&
        failed(writeStep(module, StepOptions())))
      return failure();
  }
  return formKernels(module);
}

} // namespace act
