// SPDX-License-Identifier: Apache-2.0
//
// Reverse-mode differentiation of a module, as a function that several passes
// call. A layer is a function that `act.repeat` calls:
//
//   @layer(l?, carried.., shared..)      -> carried..
//     becomes
//   @layer.fwd(l?, carried.., shared..)  -> carried.., saved..
//   @layer.bwd(l?, d_carried.., d_shared.., shared.., saved..)
//                                        -> d_carried.., d_shared..
//
// d_shared are running sums for the shared values that have a gradient.
#ifndef ACT_PASSES_ACT_DIFFERENTIATE_H
#define ACT_PASSES_ACT_DIFFERENTIATE_H
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace act {

/// The entry of a model as it is written or imported.
inline constexpr llvm::StringLiteral forwardName = "forward";
inline constexpr llvm::StringLiteral gradName = "grad";
inline constexpr llvm::StringLiteral updateName = "update";
inline constexpr llvm::StringLiteral stepName = "step";

/// Adds @grad for @forward. Emits an error and fails if the module has no
/// @forward with a scalar float loss as first result, or if an op on the way
/// from a trained parameter to the loss has no gradient.
llvm::LogicalResult differentiate(mlir::ModuleOp module);

/// True for a value that a backward or recomputing function makes again for
/// nothing instead of saving it: a view, a parameter, a constant, a mask.
bool isReplayed(mlir::Operation *op);

} // namespace act
#endif
