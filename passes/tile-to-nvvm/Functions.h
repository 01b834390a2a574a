// SPDX-License-Identifier: Apache-2.0
//
// Functions of single values as instructions of PTX. README.md states the
// errors; test/passes/tile-to-nvvm measures them.
#ifndef ACT_PASSES_TILETONVVM_FUNCTIONS_H
#define ACT_PASSES_TILETONVVM_FUNCTIONS_H
#include "mlir/IR/Builders.h"

namespace act::tile {

/// Whether expandGpuFunction knows the operation, on some type.
bool isGpuFunction(mlir::Operation *op);

/// The result of `op` on f32 by other means, or null when there is nothing to
/// do: the operation is an instruction, or of another type.
mlir::Value expandGpuFunction(mlir::Operation *op, mlir::OpBuilder &builder);

} // namespace act::tile
#endif
