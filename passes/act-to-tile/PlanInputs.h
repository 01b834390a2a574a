// SPDX-License-Identifier: Apache-2.0
//
// What a kernel's grid is planned from: the target, and the function's results.
#ifndef ACT_PASSES_ACTTOTILE_PLANINPUTS_H
#define ACT_PASSES_ACTTOTILE_PLANINPUTS_H
#include "act/Target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/act-to-tile/ScheduleTable.h"

namespace act::tile {

struct PlanOptions {
  const Target *target;
  /// The shared memory of a program that kernels are planned for: what the
  /// target has, or less where an estimate was too low.
  int64_t sharedBytes;
  /// Not 0: what leaves the bits as they are is drawn at random, differently
  /// for each number and kernel. For tests.
  uint64_t seed = 0;
  /// Of the target, found by a search; null: none.
  const ScheduleTable *schedules = nullptr;
};

/// The results of a kernel's function, by what its programs do with them.
struct KernelResults {
  llvm::SmallVector<mlir::Value> stored; // by blocks: these shape the grid
  llvm::SmallVector<mlir::Value> added;  // to memory, in turns
  /// The programs that go over all blocks of rows, each keeping partial sums; 0
  /// if there is one program per block.
  int64_t parts = 0;
};
KernelResults resultsOf(mlir::func::FuncOp function);

} // namespace act::tile
#endif
