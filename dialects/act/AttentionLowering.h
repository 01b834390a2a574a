// SPDX-License-Identifier: Apache-2.0
//
// The gradient of attention as kernels. dq is a sum over keys, dk and dv are
// sums over queries, d bias is none but over what the bias is repeated for:
// each has an order of its own, and none needs another's result, so nothing is
// added atomically and no workspace is kept. `lowerToLinalg` of
// act.attention_grad emits all, one after the other.
#ifndef ACT_DIALECTS_ACT_ATTENTIONLOWERING_H
#define ACT_DIALECTS_ACT_ATTENTIONLOWERING_H
#include "dialects/act/Dialect.h"

namespace act {

/// Blocks over (batch, head, query rows): appends dq, and the gradient of the
/// sinks when the op has them.
mlir::LogicalResult
lowerAttentionGradQ(mlir::OpBuilder &b, AttentionGradOp op,
                    mlir::ValueRange operands,
                    llvm::SmallVectorImpl<mlir::Value> &results);

/// Blocks over (batch, head of key and value, key rows): appends dk and dv.
/// The query heads that share a key head are added in order.
mlir::LogicalResult
lowerAttentionGradKV(mlir::OpBuilder &b, AttentionGradOp op,
                     mlir::ValueRange operands,
                     llvm::SmallVectorImpl<mlir::Value> &results);

/// Blocks over (batch, head, rows) of the bias: its gradient.
mlir::LogicalResult lowerAttentionGradBias(mlir::OpBuilder &b,
                                           AttentionGradOp op,
                                           mlir::ValueRange operands,
                                           mlir::Value &dbias);

/// The parts of lowerToSums of act.attention_grad, each a kernel for blocks.
mlir::LogicalResult attentionGradQ(mlir::OpBuilder &b, AttentionGradOp op,
                                   mlir::ValueRange operands, mlir::Value &dq);
mlir::LogicalResult attentionGradKV(mlir::OpBuilder &b, AttentionGradOp op,
                                    mlir::ValueRange operands, mlir::Value &dk,
                                    mlir::Value &dv);
mlir::LogicalResult attentionGradSinks(mlir::OpBuilder &b, AttentionGradOp op,
                                       mlir::ValueRange operands,
                                       mlir::Value &dsinks);
mlir::LogicalResult attentionGradBias(mlir::OpBuilder &b, AttentionGradOp op,
                                      mlir::ValueRange operands,
                                      mlir::Value &dbias);

} // namespace act
#endif
