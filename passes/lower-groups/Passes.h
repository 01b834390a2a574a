// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_LOWERGROUPS_PASSES_H
#define ACT_PASSES_LOWERGROUPS_PASSES_H
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"

namespace act {
#define GEN_PASS_DECL
#include "passes/lower-groups/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/lower-groups/Passes.h.inc"
} // namespace act
#endif
