// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_EMIT_PASSES_H
#define ACT_PASSES_EMIT_PASSES_H
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace act {
#define GEN_PASS_DECL
#include "passes/emit/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/emit/Passes.h.inc"
} // namespace act
#endif
