// SPDX-License-Identifier: Apache-2.0
//
// The pass that finds act ops in upstream dialects.
#ifndef ACT_PASSES_RAISE_PASSES_H
#define ACT_PASSES_RAISE_PASSES_H
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace act {
#define GEN_PASS_DECL
#include "passes/raise/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/raise/Passes.h.inc"

/// Whether --raise-to-act replaces ops of this dialect, which MLIR does not
/// have.
inline bool isRaisedDialect(llvm::StringRef name) {
  return name == "stablehlo" || name == "chlo" || name == "torch";
}
} // namespace act
#endif
