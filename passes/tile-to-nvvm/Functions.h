// SPDX-License-Identifier: Apache-2.0
//
// Functions of scalars as PTX instructions. README.md states the errors;
// test/passes/tile-to-nvvm measures them.
#ifndef ACT_PASSES_TILETONVVM_FUNCTIONS_H
#define ACT_PASSES_TILETONVVM_FUNCTIONS_H
#include "mlir/IR/Builders.h"

namespace act::tile {

/// Whether expandGpuFunction supports the operation, on some type.
bool isGpuFunction(mlir::Operation *op);

/// The result of `op` on f32 by other instructions, or null if nothing is to be
/// done: the op is an instruction already, or has another type.
mlir::Value expandGpuFunction(mlir::Operation *op, mlir::OpBuilder &builder);

} // namespace act::tile
#endif
