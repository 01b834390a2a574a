// SPDX-License-Identifier: Apache-2.0
//
// The update ops as linalg. They act on persistent buffers known only to the
// pass that binds parameters, so these are functions of tensors: they take the
// buffers' values and return the new ones, in the order of the arguments. Every
// new value may overwrite the old one in place: element i of a result depends
// on elements i of the operands and on scalars.
#ifndef ACT_DIALECTS_ACT_OPTIMIZERLOWERING_H
#define ACT_DIALECTS_ACT_OPTIMIZERLOWERING_H
#include "dialects/act/Dialect.h"

namespace act {

/// Returns (param, [master], m, v). `master` is null unless the op says
/// `master`; `clip` is the factor tensor or null; `lr` is f32, `step` i64. A
/// `grad` of another float type is widened.
llvm::SmallVector<mlir::Value> lowerAdamW(mlir::OpBuilder &b, AdamWOp op,
                                          mlir::Value param, mlir::Value grad,
                                          mlir::Value master, mlir::Value m,
                                          mlir::Value v, mlir::Value lr,
                                          mlir::Value step, mlir::Value clip);

/// Returns (param, [master]).
llvm::SmallVector<mlir::Value> lowerSgd(mlir::OpBuilder &b, SgdOp op,
                                        mlir::Value param, mlir::Value grad,
                                        mlir::Value master, mlir::Value lr,
                                        mlir::Value clip);

/// grad + value, rounded to grad's type.
mlir::Value lowerAccumulate(mlir::OpBuilder &b, mlir::Location loc,
                            mlir::Value grad, mlir::Value value);

/// Zeros of a plain tensor type.
mlir::Value lowerZeroGrad(mlir::OpBuilder &b, mlir::Location loc,
                          mlir::Type type);

/// act.grad_square_sum in two steps, so that the first can run in parallel:
/// the sum of squares of every row (all dimensions but the last are rows), a
/// tensor<rows x f32>; then sum + those, in order.
mlir::Value lowerSquareSumOfRows(mlir::OpBuilder &b, mlir::Location loc,
                                 mlir::Value grad);
mlir::Value lowerAddToSquareSum(mlir::OpBuilder &b, mlir::Location loc,
                                mlir::Value sum, mlir::Value rows);

} // namespace act
#endif
