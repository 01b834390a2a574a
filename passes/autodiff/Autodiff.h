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
#ifndef ACT_PASSES_AUTODIFF_AUTODIFF_H
#define ACT_PASSES_AUTODIFF_AUTODIFF_H
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace act {

/// Adds @grad for @forward. Emits an error and fails if @forward is missing, if
/// it is neither a differentiable function nor returns a scalar float loss
/// first, or if an op between a trained parameter and a result has no gradient.
///
/// @grad of a model with a loss takes and returns what @forward does. That of a
/// differentiable function (act.differentiable) takes the gradients of its
/// results as well, and returns those of the arguments with act.requires_grad:
///
///   @forward(x, n)          -> y, z
///   @grad(x, n, y.grad, z.grad) -> y, z, x.grad
llvm::LogicalResult differentiate(mlir::ModuleOp module);

/// True for an op that backward and recomputation repeat at no cost instead of
/// saving its result: a view, a parameter, a constant, a mask.
bool isReplayed(mlir::Operation *op);

} // namespace act
#endif
