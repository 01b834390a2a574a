// SPDX-License-Identifier: Apache-2.0
//
// The gradient of attention as two kernels. dq is a sum over keys, dk and dv
// are sums over queries: each has an order of its own, and neither needs the
// other's result, so nothing is added atomically and no workspace is kept.
// `lowerToLinalg` of act.attention_grad emits both, one after the other.
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

/// The parts of lowerToSums of act.attention_grad, each a kernel for blocks.
mlir::LogicalResult attentionGradQ(mlir::OpBuilder &b, AttentionGradOp op,
                                   mlir::ValueRange operands, mlir::Value &dq);
mlir::LogicalResult attentionGradKV(mlir::OpBuilder &b, AttentionGradOp op,
                                    mlir::ValueRange operands, mlir::Value &dk,
                                    mlir::Value &dv);
mlir::LogicalResult attentionGradSinks(mlir::OpBuilder &b, AttentionGradOp op,
                                       mlir::ValueRange operands,
                                       mlir::Value &dsinks);

} // namespace act
#endif
