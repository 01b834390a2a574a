// SPDX-License-Identifier: Apache-2.0
//
// Constructors of the passes of this folder (see Passes.td).
#ifndef ACT_PASSES_GROUPSTOHOST_PASSES_H
#define ACT_PASSES_GROUPSTOHOST_PASSES_H
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace act {
#define GEN_PASS_DECL
#include "passes/groups-to-host/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/groups-to-host/Passes.h.inc"

/// The function attributes through which the passes communicate.
inline constexpr llvm::StringLiteral kWorkAttr = "act.work";
inline constexpr llvm::StringLiteral kGridAttr = "act.grid";
inline constexpr llvm::StringLiteral kScratchAttr = "act.scratch_bytes";
/// On the module: the width of the target's vectors. 512 without it.
inline constexpr llvm::StringLiteral kVectorBitsAttr = "act.vector_bits";
} // namespace act
#endif
