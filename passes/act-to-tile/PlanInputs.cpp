// SPDX-License-Identifier: Apache-2.0
#include "passes/act-to-tile/PlanInputs.h"
#include "dialects/act/Dialect.h"

using namespace mlir;
using namespace act;
using namespace act::tile;

KernelResults act::tile::resultsOf(func::FuncOp function) {
  KernelResults out;
  SmallVector<Value> results(
      function.getBody().front().getTerminator()->getOperands());
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    ArgumentRoleAttr role = roleOf(function, i);
    if (!role)
      continue;
    if (role.getKind() == ArgumentRoleKind::Summed)
      out.added.push_back(std::exchange(results[role.getResult()], {}));
    if (role.getKind() == ArgumentRoleKind::Parts) {
      results[role.getResult()] = {};
      auto type = cast<RankedTensorType>(function.getArgumentTypes()[i]);
      out.parts = type.getDimSize(0);
    }
  }
  llvm::copy_if(results, std::back_inserter(out.stored),
                [](Value v) { return bool(v); });
  return out;
}
