// SPDX-License-Identifier: Apache-2.0
//
// Lowers the gradient of attention to kernels. dq sums over keys, dk and dv sum
// over queries, and d bias sums only over what the bias is repeated for. Each
// has its own order and needs no result of the others, so nothing is added
// atomically and no workspace is kept. `lowerToLinalg` of act.attention_grad
// emits all, one after the other.
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

// The parts of lowerToSums of act.attention_grad, each a kernel for blocks, in
// this order. Scores are computed once, block by block of keys: dk and dv are
// sums in a program. dq is a sum over programs, which take turns to add to it.

/// Whether blocks of keys take turns to add to dq: if both dq and a gradient of
/// keys or values are needed. If only one is, its rows loop over the others,
/// and delta is the only workspace used.
bool takesTurns(AttentionGradOp op);

/// Data passed between the parts, of the op's workspace types in this order.
struct AttentionGradWorkspace {
  mlir::Value sum;           ///< like q, in f32: dq without its factor
  mlir::Value delta;         ///< like lse: sum(o * grad) of each row
  mlir::Value turns, ticket; ///< like lse, and one number; both i32
};

/// Computes delta, and zeros for the others; memory has no shape, so theirs may
/// differ.
void attentionGradBegin(mlir::OpBuilder &b, AttentionGradOp op,
                        mlir::ValueRange operands,
                        AttentionGradWorkspace &begun);
/// `delta` may be null, here and below: then it is computed.
mlir::LogicalResult attentionGradKeys(mlir::OpBuilder &b, AttentionGradOp op,
                                      mlir::ValueRange operands,
                                      mlir::Value delta, mlir::Value &dk,
                                      mlir::Value &dv, mlir::Value &sum);
mlir::LogicalResult attentionGradSinks(mlir::OpBuilder &b, AttentionGradOp op,
                                       mlir::ValueRange operands,
                                       mlir::Value delta, mlir::Value &dsinks);
mlir::LogicalResult attentionGradBias(mlir::OpBuilder &b, AttentionGradOp op,
                                      mlir::ValueRange operands,
                                      mlir::Value delta, mlir::Value &dbias);
void attentionGradEnd(mlir::OpBuilder &b, AttentionGradOp op,
                      mlir::ValueRange operands, mlir::Value sum,
                      mlir::Value &dq);

} // namespace act
#endif
