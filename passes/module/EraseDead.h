// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_MODULE_ERASEDEAD_H
#define ACT_PASSES_MODULE_ERASEDEAD_H
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace act {

/// Erases `op` if it is dead, then every producer that this leaves dead.
inline void eraseDead(mlir::Operation *op) {
  llvm::SetVector<mlir::Operation *> work;
  work.insert(op);
  while (!work.empty()) {
    op = work.pop_back_val();
    if (!mlir::isOpTriviallyDead(op))
      continue;
    llvm::SmallVector<mlir::Value> operands(op->getOperands());
    op->erase();
    for (mlir::Value operand : operands)
      if (mlir::Operation *producer = operand.getDefiningOp())
        work.insert(producer);
  }
}

/// Erases ops without effects whose results are unused.
inline void eraseDead(mlir::Block &block) {
  for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (mlir::isOpTriviallyDead(&op))
      op.erase();
}

} // namespace act
#endif
