// SPDX-License-Identifier: Apache-2.0
//
// Operators of PyTorch by name, for reading: nothing consumes them, and what
// they mean is PyTorch's to say. So they have no definitions.
#ifndef ACT_PASSES_ACT_ATENDIALECT_H
#define ACT_PASSES_ACT_ATENDIALECT_H
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
