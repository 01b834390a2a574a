// SPDX-License-Identifier: Apache-2.0
//
// The pass that decides what is recomputed.
#ifndef ACT_PASSES_REMAT_PASSES_H
#define ACT_PASSES_REMAT_PASSES_H
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace act {
#define GEN_PASS_DECL
#include "passes/remat/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/remat/Passes.h.inc"
} // namespace act
#endif
