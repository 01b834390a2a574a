// SPDX-License-Identifier: Apache-2.0
//
// How verifiers compare and print dimensions.
//
// A dimension has a size, or a name that stands for one, or both. Two
// dimensions are compatible when both sizes are known and equal, or when the
// names are equal: `4096 (s)` goes with `? (s)` and with an unnamed 4096.
//
//   'act.linear' op bias has shape [5], expected [6] for a weight of shape [6,
//   8]
#ifndef ACT_DIALECTS_ACT_SHAPECHECK_H
#define ACT_DIALECTS_ACT_SHAPECHECK_H
#include "dialects/act/Types.h"

namespace act {

struct Dim {
  int64_t size; ///< ShapedType::kDynamic when only the name is known
  std::string name;

  Dim(int64_t size) : size(size), name(std::to_string(size)) {}
  Dim(int64_t size, std::string name) : size(size), name(std::move(name)) {}
  bool isStatic() const { return !mlir::ShapedType::isDynamic(size); }
  std::string text() const { return isStatic() ? std::to_string(size) : name; }
  bool operator==(const Dim &other) const;
  bool operator!=(const Dim &other) const { return !(*this == other); }
};
using Dims = llvm::SmallVector<Dim, 4>;

Dims dimsOf(RankedTensorType type);
std::string shapeText(llvm::ArrayRef<Dim> dims);
std::string shapeText(RankedTensorType type);
bool sameShape(llvm::ArrayRef<Dim> a, llvm::ArrayRef<Dim> b);

/// Whether both have the same number of elements. With dynamic dimensions:
/// whether the products of names are equal, or those of sizes, with names for
/// unknown sizes.
bool sameProduct(llvm::ArrayRef<Dim> a, llvm::ArrayRef<Dim> b);

/// `dims` without the last, and with another last dimension.
Dims withoutLast(llvm::ArrayRef<Dim> dims);
Dims withLast(llvm::ArrayRef<Dim> dims, Dim last);

/// Fails with "NAME has shape [..], expected [..] WHY".
llvm::LogicalResult checkShape(mlir::Operation *op, llvm::StringRef name,
                               RankedTensorType actual,
                               llvm::ArrayRef<Dim> expected,
                               const llvm::Twine &why);

/// Fails with "NAME has rank R, expected N WHY".
llvm::LogicalResult checkRank(mlir::Operation *op, llvm::StringRef name,
                              RankedTensorType actual, int64_t expected,
                              const llvm::Twine &why);

/// Fails with "NAME has elements of type T, expected E WHY".
llvm::LogicalResult checkElement(mlir::Operation *op, llvm::StringRef name,
                                 RankedTensorType actual, mlir::Type expected,
                                 const llvm::Twine &why);

/// Checks both shape and element type.
llvm::LogicalResult checkLike(mlir::Operation *op, llvm::StringRef name,
                              RankedTensorType actual, llvm::StringRef likeName,
                              RankedTensorType like);

} // namespace act
#endif
