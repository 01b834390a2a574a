// SPDX-License-Identifier: Apache-2.0
//
// The passes that any act module can take, at any stage.
#ifndef ACT_PASSES_MODULE_PASSES_H
#define ACT_PASSES_MODULE_PASSES_H
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace act {
#define GEN_PASS_DECL
#include "passes/module/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/module/Passes.h.inc"
} // namespace act
#endif
