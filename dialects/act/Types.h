// SPDX-License-Identifier: Apache-2.0
//
// Helpers for act's tensor types shared by several op families: names of
// dimensions, result types, and the small ops used in gradients.
#ifndef ACT_DIALECTS_ACT_TYPES_H
#define ACT_DIALECTS_ACT_TYPES_H
#include "dialects/act/Dialect.h"

namespace act {

using mlir::RankedTensorType;

/// The names of `type`'s dimensions; a dimension without a name is its size.
llvm::SmallVector<std::string> dimNames(RankedTensorType type);

/// A tensor of `shape` whose dimensions are named; the encoding is left out
/// when no name has a letter.
RankedTensorType namedTensor(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                             llvm::ArrayRef<std::string> names,
                             mlir::MLIRContext *context);

/// `type` with another element type.
RankedTensorType withElement(RankedTensorType type, mlir::Type element);

/// `type` without its last `n` dimensions, or without its first `n`.
RankedTensorType dropBack(RankedTensorType type, unsigned n,
                          mlir::Type element = {});
RankedTensorType dropFront(RankedTensorType type, unsigned n);

/// `type` with a new first dimension; without a name it is a number.
RankedTensorType prepend(RankedTensorType type, int64_t size,
                         llvm::StringRef name);

/// All dimensions but the last `keep` multiplied into one: [b, s, h] -> [b*s,
/// h].
RankedTensorType flattenLeading(RankedTensorType type, unsigned keep);

/// `value` reshaped to `type`; the value itself when the type is equal.
mlir::Value reshapeTo(mlir::OpBuilder &b, mlir::Value value,
                      RankedTensorType type);

/// Sums `grad` to the shape of `type`, undoing numpy broadcasting.
mlir::Value sumToType(mlir::OpBuilder &b, mlir::Value grad,
                      RankedTensorType type);

/// `value` in `type`'s element type.
mlir::Value castTo(mlir::OpBuilder &b, mlir::Value value,
                   RankedTensorType type);

/// cap * tanh(x / cap), in three ops. `bend` gets the second one's result.
mlir::Value softcap(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                    double cap, mlir::Value *bend = nullptr);

/// The type in which an op computes: f64 for f64, f32 for every other float.
mlir::Type computeType(mlir::Type element);

/// On a module: a dictionary from the letters that its types leave open to
/// sizes that fit together, those of the config that it was made from. Used
/// where a program must be flattened and its sizes do not matter.
inline constexpr llvm::StringLiteral openSizesAttr = "act.open_sizes";

/// On a parameter: the element type of its gradient, where it is not its own.
inline constexpr llvm::StringLiteral gradientTypeAttr = "act.gradient_type";

/// On a parameter: the element type of its moments, where it is not the one
/// that ops compute in.
inline constexpr llvm::StringLiteral stateTypeAttr = "act.state_type";

/// Elements of a moment of 8 bits that share a scale.
inline constexpr int64_t dynamicBlock = 256;

/// Whether an optimizer keeps the buffer: a master copy or a moment.
inline bool isOptimizerState(ParameterBuffer buffer) {
  return buffer != ParameterBuffer::Parameter &&
         buffer != ParameterBuffer::Gradient;
}

/// The type of one of a parameter's buffers (of one layer): the gradient's is
/// the parameter's or gradientTypeAttr's, the master copy's is the type that
/// ops compute in, a moment's is that or stateTypeAttr's. One of 8 bits has
/// codes [n / 256, 256] and scales [n / 256].
RankedTensorType bufferType(ParameterOp parameter, ParameterBuffer buffer);

/// Elements of a static shape; 0 when a dimension is dynamic.
int64_t elementCount(RankedTensorType type);

/// Bytes that a static tensor occupies: a byte per i1, nf4 as in nf4::Layout.
int64_t byteSize(RankedTensorType type);

} // namespace act
#endif
