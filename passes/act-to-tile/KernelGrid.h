// SPDX-License-Identifier: Apache-2.0
//
// What one program of a kernel computes, read off the kernel's results.
//
// The largest result says the grid: each of its dimensions is cut into blocks,
// or counted one by one. Where a sum of products is behind it, rows and columns
// of that product are the dimensions that have blocks; else it is the last
// ones, with whole rows where rows are summed. Another result of the kernel
// has, for each of its dimensions, the one of the first that counts the same.
#ifndef ACT_PASSES_ACTTOTILE_KERNELGRID_H
#define ACT_PASSES_ACTTOTILE_KERNELGRID_H
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Value.h"
#include "mlir/Support/LLVM.h"

namespace act::tile {

struct KernelGrid {
  mlir::Value root;                  // what the largest result is, unshaped
  llvm::SmallVector<int64_t> blocks; // per dimension; 1: a number, no axis
  int64_t warps = 4, stages = 2;
  int64_t step = 64; // of a sum of products
  /// A dimension whose numbers a program has all, one after the other, or -1:
  /// what is made of parts of a product's rows, of which it has the rows.
  int inTurn = -1;
  /// Whether a program goes over all blocks of the last dimension in a loop: of
  /// rows that are summed and longer than a program has whole.
  bool goesOverColumns = false;
  /// Rows of programs that begin together: of a product, if there are many.
  int64_t rowsTogether = 1;

  /// Blocks along a dimension, and programs.
  int64_t blocksOf(size_t dim) const;
  int64_t countOf(size_t dim) const;
  int64_t programs() const;
  /// As many columns, or a few more, that the warps can share with `rows`, of
  /// which there are a multiple of 16.
  int64_t columnsOfProduct(int64_t rows, int64_t columns) const;
};

/// A result that only gives another shape to what is computed is stored in that
/// shape: memory is dense.
mlir::Value unshaped(mlir::Value v);

/// The extent of a block that has whole rows of `width` numbers: a few more, if
/// the threads can share these. They share dimensions by powers of two; of 1000
/// numbers a thread has 8, beside each other, in all rows or none, and with
/// 1024 there are 128 such threads. What is outside of a tensor is not loaded.
int64_t rowExtent(int64_t width);

/// The last tightness: of an option of --convert-linalg-to-tile.
constexpr int64_t tightest = 6;
/// `summed`: results that programs add to, which have no part in the grid.
/// `parts`: as many programs go over all blocks, or 0: each has one block.
KernelGrid planGrid(mlir::ValueRange results, mlir::ValueRange summed = {},
                    int64_t tightness = 0, int64_t parts = 0);

/// An argument whose rows are parts of a sum over rows, the result with this
/// number: as many programs go over the grid's blocks.
constexpr llvm::StringLiteral partsName = "act.parts";

/// What a kernel of `function` is like, before there is one.
struct KernelKind {
  int64_t warps = 0, products = 0; // that it has sums of
};
mlir::FailureOr<KernelKind> kindOf(mlir::func::FuncOp function);

/// For each dimension of `v`, the dimension of the grid's root that counts the
/// same, or -1: one that each program has whole.
mlir::FailureOr<llvm::SmallVector<int>> dimensionsOf(mlir::Value v,
                                                     const KernelGrid &grid);

/// For each loop of `op` the dimension of the grid's root that it is along, by
/// the operands that both are made of, or -1.
llvm::SmallVector<int> loopsAlong(mlir::linalg::GenericOp op,
                                  const KernelGrid &grid);

} // namespace act::tile
#endif
