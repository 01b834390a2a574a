// SPDX-License-Identifier: Apache-2.0
//
// The passes that find fused ops in primitives.
#ifndef ACT_PASSES_FUSE_PASSES_H
#define ACT_PASSES_FUSE_PASSES_H
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace act {
#define GEN_PASS_DECL
#include "passes/fuse/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/fuse/Passes.h.inc"
} // namespace act
#endif
