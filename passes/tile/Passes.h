// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_TILE_PASSES_H
#define ACT_PASSES_TILE_PASSES_H

#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"

namespace act::tile {
#define GEN_PASS_DECL
#include "passes/tile/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/tile/Passes.h.inc"
} // namespace act::tile
#endif
