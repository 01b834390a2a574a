// SPDX-License-Identifier: Apache-2.0
//
// What one program of a kernel computes.
//
// The largest result, the root, determines the grid: each of its dimensions is
// cut into blocks or counted one by one. If a sum of products is behind it,
// that product's rows and columns are the blocked dimensions. Otherwise the
// last ones are, with whole rows where rows are summed. Each dimension of
// another result maps to the root's dimension that counts the same.
//
// PlanGrid.h chooses it.
#ifndef ACT_PASSES_ACTTOTILE_KERNELGRID_H
#define ACT_PASSES_ACTTOTILE_KERNELGRID_H
#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Value.h"
#include "mlir/Support/LLVM.h"

namespace act::tile {

struct KernelGrid {
  mlir::Value root;                  // the largest result, unshaped
  llvm::SmallVector<int64_t> blocks; // per dimension; 1: a number, no axis
  int64_t warps = 4, stages = 2;
  /// With one stage, operands have places of their own and are copied as soon
  /// as the last ones were read.
  bool early = false;
  /// The next iteration's first fragments are fetched under the last products.
  bool ahead = false;
  /// A table says so.
  bool isListed = false;
  /// Warps multiply in groups of four, each 64 rows (takeGroups), and one more
  /// copies. Its ring stays while results are stored: `besideRing` bytes are
  /// needed for that.
  bool inGroups = false;
  /// As many groups as a table says; 0: one for each 64 rows.
  int64_t groups = 0;
  /// Where groups read first operands.
  FirstOperand a = FirstOperand::WhereItIs;
  /// The next block's scores are computed while this one's are summed up.
  bool rotated = false;
  /// Groups start their products in turn.
  bool turns = false;
  /// A warp adds to memory for the others.
  bool stores = false;
  /// A program does the work of several, one after the other.
  bool persistent = false;
  /// Programs of a cluster, which share copies by tensor maps: in groups, and
  /// where all programs are whole clusters.
  int64_t cluster = 1;
  int64_t besideRing = 0;
  int64_t step = 64; // of a sum of products
  int64_t unit = 64; // a shorter sum's step is a multiple of this
  /// A dimension that one program covers completely, one index after the other,
  /// or -1: for results made of several parts of a product's rows.
  int inTurn = -1;
  /// Whether a program loops over all blocks of the last dimension: for summed
  /// rows too long to hold whole.
  bool goesOverColumns = false;
  /// Rows of programs that start together; more than 1 for large products.
  int64_t rowsTogether = 1;
  /// The shared memory of a program, estimated; 0: not known, or little.
  int64_t sharedBytes = 0;

  /// Blocks along a dimension, and programs.
  int64_t blocksOf(size_t dim) const;
  int64_t countOf(size_t dim) const;
  int64_t programs() const;
  /// At least `columns`, rounded up so that the warps can share them with
  /// `rows`, a multiple of 16.
  int64_t columnsOfProduct(int64_t rows, int64_t columns) const;
  /// Gives the program `groups` groups of warps, for 64 rows each.
  void takeGroups(int rows, int64_t groups);
};

/// How groups share the registers with the warps that copy, or copy and store.
/// One thread of each does; where registers are short, these warps give some
/// away, which warps do four at a time. 0: each thread has as many as the
/// launch gives it.
struct GroupRegisters {
  GroupRegisters(int64_t groups, bool stores)
      : copyWarps(groups > 1 ? 4 - stores : 1), copy(groups > 2    ? 32
                                                     : groups == 2 ? 24
                                                                   : 0),
        compute(groups > 2    ? 160
                : groups == 2 ? 240
                              : 0) {}
  int64_t copyWarps, copy, compute;
};

/// Threads of four warps. If a block lacks 8 numbers (16 bytes of bf16) per
/// thread, some threads may hold copies, which are loaded too.
constexpr int64_t fourWarps = 4 * 32;
/// A product inside another one's loop takes a single step up to this depth.
constexpr int64_t innerDepth = 256;
/// The longest row that a program holds whole.
constexpr int64_t longestRow = 16384;

/// Whether the warps can share a product evenly, in multiples of 16 rows and 8
/// columns.
bool canShare(int64_t rows, int64_t columns, int64_t warps);
/// Warps among which `warps` divide a row of a product with `rows` rows, whose
/// rows stay together where they can (passes/tile/DotWarps.h).
int64_t columnWarps(int64_t rows, int64_t warps);

/// The extent of a block with whole rows of `width` numbers, rounded up if that
/// lets the threads share them. They share dimensions by powers of two: of 1000
/// numbers a thread has 8 adjacent ones, in all rows or none; with 1024, 128
/// threads share them. Loads skip elements outside of a tensor.
int64_t rowExtent(int64_t width);

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
