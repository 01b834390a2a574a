// SPDX-License-Identifier: Apache-2.0
//
// What is behind a kernel's results: which products and sums, and along which
// dimensions of the grid's root each of their loops goes.
#ifndef ACT_PASSES_ACTTOTILE_BEHIND_H
#define ACT_PASSES_ACTTOTILE_BEHIND_H
#include "dialects/act/LinalgBuilder.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Value.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/DenseMap.h"

namespace act::tile {

using act::shapeOf;

/// For each dimension of a value, the root's dimension that it is, or -1.
using Dims = llvm::SmallVector<int>;

/// A dimension that collapses several at its reader: the root's dimension of
/// the first one, and the total length of the others.
struct Digits {
  int outer = -1; // -1: none
  int64_t width = 1;
};

/// Visits the generics that compute a value, nearest first, with the root's
/// dimension of each of their loops. visit() returns whether to go on to the
/// operands, and may number loops that are along none of the root's: their
/// operands then have these numbers. `digits` is keyed by the root's dimensions
/// that collapse several.
///
/// For a root [s, h] that is a product plus a residual:
///
///   add      loops (s, h)       dims (0, 1)
///   product  loops (s, h, k)    dims (0, 1, -1)
void visitBehind(
    mlir::Value v, const Dims &dims, llvm::DenseMap<mlir::Value, Dims> &seen,
    llvm::function_ref<bool(mlir::linalg::GenericOp, Dims &)> visit,
    llvm::DenseMap<int, Digits> *digits = nullptr);
/// The same from all dimensions of `root`.
void visitBehind(
    mlir::Value root,
    llvm::function_ref<bool(mlir::linalg::GenericOp, Dims &)> visit);

/// The dimensions of an operand of an op, given those of the op's loops.
Dims throughMap(mlir::AffineMap map, llvm::ArrayRef<int> loops);
/// All dimensions of `root`.
Dims identity(mlir::Value root);

struct ProductShape {
  int rows = -1, columns = -1; // dimensions of the root; -1: summed over
  bool computed = false;       // an operand depends on another product
  bool isWide = false;         // both operands have 32-bit elements
  Dims along;                  // its dimensions among the root's
  Digits digits;               // of its columns

  bool hasSides() const { return rows >= 0 && columns >= 0; }
};

/// The first product behind `root` that has both rows and columns in it; else
/// one that lacks one or both.
std::optional<ProductShape> anyProductBehind(mlir::Value root);
/// The first that has both, or nothing.
std::optional<ProductShape> productBehind(mlir::Value root);

/// Direction of the nearest reduction behind `root`: along the last dimension,
/// whose elements all need its result, or across it.
enum class RowSums { None, Along, Beside };
RowSums rowSums(mlir::Value root);

/// The nearest products behind the values: of what comes after them nothing is
/// seen.
llvm::SmallVector<mlir::Value> nearestProducts(mlir::ValueRange values);

/// Whether the value's elements are f16 or bf16.
bool isHalf(mlir::Value v);

/// Whether a sum or a maximum of products is behind one of the values.
bool sumsProducts(mlir::ValueRange values);

/// Whether the op draws random numbers by Philox.
bool drawsNumbers(mlir::linalg::GenericOp op);

/// `v` without reshapes of a computed value: memory is dense, so the value is
/// stored in its own shape.
mlir::Value unshaped(mlir::Value v);

} // namespace act::tile
#endif
