// SPDX-License-Identifier: Apache-2.0
//
// The pass that differentiates.
#ifndef ACT_PASSES_AUTODIFF_PASSES_H
#define ACT_PASSES_AUTODIFF_PASSES_H
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace act {
#define GEN_PASS_DECL
#include "passes/autodiff/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/autodiff/Passes.h.inc"
} // namespace act
#endif
