// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_RAISE_TORCHDIALECT_H
#define ACT_PASSES_RAISE_TORCHDIALECT_H
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace act {

/// Replaces ops and types of the torch dialect, which MLIR does not have: they
/// are unregistered, in generic form, as torch-mlir's `output_type="torch"` is
/// printed. Types `!torch.vtensor<[2,3],f32>` become tensors, and ops upstream
/// ones and act's. An op that is not known is an error with its name.
llvm::LogicalResult lowerTorchDialect(mlir::func::FuncOp function);

} // namespace act
#endif
