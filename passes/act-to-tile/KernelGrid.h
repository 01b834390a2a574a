// SPDX-License-Identifier: Apache-2.0
//
// Plans the grid: what one program of a kernel computes.
//
// The largest result, the root, determines the grid: each of its dimensions is
// cut into blocks or counted one by one. If a sum of products is behind it,
// that product's rows and columns are the blocked dimensions. Otherwise the
// last ones are, with whole rows where rows are summed. Each dimension of
// another result maps to the root's dimension that counts the same.
#ifndef ACT_PASSES_ACTTOTILE_KERNELGRID_H
#define ACT_PASSES_ACTTOTILE_KERNELGRID_H
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Value.h"
#include "mlir/Support/LLVM.h"

namespace act::tile {

struct KernelGrid {
  mlir::Value root;                  // the largest result, unshaped
  llvm::SmallVector<int64_t> blocks; // per dimension; 1: a number, no axis
  int64_t warps = 4, stages = 2;
  int64_t step = 64; // of a sum of products
  /// A dimension that one program covers completely, one index after the other,
  /// or -1: for results made of several parts of a product's rows.
  int inTurn = -1;
  /// Whether a program loops over all blocks of the last dimension: for summed
  /// rows too long to hold whole.
  bool goesOverColumns = false;
  /// Rows of programs that start together; more than 1 for large products.
  int64_t rowsTogether = 1;

  /// Blocks along a dimension, and programs.
  int64_t blocksOf(size_t dim) const;
  int64_t countOf(size_t dim) const;
  int64_t programs() const;
  /// At least `columns`, rounded up so that the warps can share them with
  /// `rows`, a multiple of 16.
  int64_t columnsOfProduct(int64_t rows, int64_t columns) const;
};

/// `v` without reshapes of a computed value: memory is dense, so the value is
/// stored in its own shape.
mlir::Value unshaped(mlir::Value v);

/// The extent of a block with whole rows of `width` numbers, rounded up if that
/// lets the threads share them. They share dimensions by powers of two: of 1000
/// numbers a thread has 8 adjacent ones, in all rows or none; with 1024, 128
/// threads share them. Loads skip elements outside of a tensor.
int64_t rowExtent(int64_t width);

/// The highest tightness, an option of --convert-linalg-to-tile.
constexpr int64_t tightest = 6;
/// `summed`: results that programs add to; they do not shape the grid. `parts`:
/// this many programs go over all blocks; 0: one block per program.
KernelGrid planGrid(mlir::ValueRange results, mlir::ValueRange summed = {},
                    int64_t tightness = 0, int64_t parts = 0);

/// Properties of the kernel of `function`, known before it exists.
struct KernelKind {
  int64_t warps = 0, products = 0; // sums of products in it
};
mlir::FailureOr<KernelKind> kindOf(mlir::func::FuncOp function);

/// For each dimension of `v`, the dimension of the grid's root that counts the
/// same, or -1: each program has it whole.
mlir::FailureOr<llvm::SmallVector<int>> dimensionsOf(mlir::Value v,
                                                     const KernelGrid &grid);

/// For each loop of `op`, the dimension of the grid's root that it is along,
/// found through common operands, or -1.
llvm::SmallVector<int> loopsAlong(mlir::linalg::GenericOp op,
                                  const KernelGrid &grid);

} // namespace act::tile
#endif
