// SPDX-License-Identifier: Apache-2.0
//
// How verifiers compare and print shapes.
//
//   'tile.trans' op result has shape [128, 64], expected [64, 128] for an input
//   of shape [128, 64]
//
// Encodings are not compared: they say which thread holds an element.
#ifndef ACT_DIALECTS_TILE_SHAPECHECK_H
#define ACT_DIALECTS_TILE_SHAPECHECK_H
#include "dialects/tile/Dialect.h"

namespace act::tile {

/// [128, ?]
std::string shapeText(llvm::ArrayRef<int64_t> shape);

/// The shape of a tensor; empty for a scalar.
llvm::ArrayRef<int64_t> shapeOf(mlir::Type type);
/// The element type of a tensor, or the scalar itself.
mlir::Type elementOf(mlir::Type type);

/// Fails with "NAME has shape [..], expected [..] WHY"; a scalar has no shape.
llvm::LogicalResult checkShape(mlir::Operation *op, llvm::StringRef name,
                               mlir::Type actual,
                               llvm::ArrayRef<int64_t> expected,
                               const llvm::Twine &why);

/// Fails with "NAME has elements of type T, expected E WHY".
llvm::LogicalResult checkElement(mlir::Operation *op, llvm::StringRef name,
                                 mlir::Type actual, mlir::Type expected,
                                 const llvm::Twine &why);

/// Fails unless shape and element type are those of `like`.
llvm::LogicalResult checkLike(mlir::Operation *op, llvm::StringRef name,
                              mlir::Type actual, llvm::StringRef likeName,
                              mlir::Type like);

/// Why no result type can be inferred from these operands, or nothing: the
/// parser's message if the type is not written, else the verifier's.
std::string axisFault(int64_t axis, int64_t last, mlir::RankedTensorType input);
std::string transFault(mlir::RankedTensorType input);
std::string splitFault(mlir::RankedTensorType input);
std::string iotaFault(int64_t start, int64_t end);
/// For an access: checks indices, extents and index tensors against the view.
std::string accessFault(ViewType view, mlir::TypeRange indices,
                        llvm::ArrayRef<int64_t> extents);

} // namespace act::tile
#endif
