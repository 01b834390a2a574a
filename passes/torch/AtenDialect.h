// SPDX-License-Identifier: Apache-2.0
//
// PyTorch operators by name, for people to read. Nothing consumes them and
// PyTorch defines their meaning, so they have no definitions here.
#ifndef ACT_PASSES_TORCH_ATENDIALECT_H
#define ACT_PASSES_TORCH_ATENDIALECT_H
#include "mlir/IR/Dialect.h"
#include "mlir/IR/MLIRContext.h"

namespace act {
class AtenDialect : public mlir::Dialect {
public:
  explicit AtenDialect(mlir::MLIRContext *context);
  static llvm::StringRef getDialectNamespace() { return "aten"; }
};
} // namespace act

MLIR_DECLARE_EXPLICIT_TYPE_ID(act::AtenDialect)
#endif
