// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_TILETONVVM_PASSES_H
#define ACT_PASSES_TILETONVVM_PASSES_H
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace act::tile {
#define GEN_PASS_DECL
#include "passes/tile-to-nvvm/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/tile-to-nvvm/Passes.h.inc"
} // namespace act::tile
#endif
