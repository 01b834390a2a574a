// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_TILETOHOST_PASSES_H
#define ACT_PASSES_TILETOHOST_PASSES_H
#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace act::tile {
#define GEN_PASS_DECL
#include "passes/tile-to-host/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/tile-to-host/Passes.h.inc"

/// On functions made by convert-tile-to-host: the messages of its checks.
inline constexpr llvm::StringLiteral kChecksAttr = "tile.checks";
} // namespace act::tile
#endif
