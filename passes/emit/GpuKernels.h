// SPDX-License-Identifier: Apache-2.0
//
// Compiles the functions of lowered groups to PTX.
//
//   linalg function ──convert-linalg-to-tile──► kernel on blocks ──► PTX
//
// The cache is keyed by the function's text without names, so a kernel compiled
// before, in any model, needs no pass. A whole model's kernels are listed there
// under the model's text.
#ifndef ACT_PASSES_EMIT_GPUKERNELS_H
#define ACT_PASSES_EMIT_GPUKERNELS_H
#include "dialects/act/Dialect.h"
#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/act-to-tile/PlanGrid.h"
#include "passes/emit/StepKernels.h"
#include "passes/tile-to-nvvm/CompileKernels.h"

namespace act {

/// A kernel for one launch: one function, or several independent ones, each
/// with a number of argument sets.
struct LaunchKernel {
  std::string name; ///< of the entry
  using Part = std::pair<const GroupKernel *, int64_t>;
  llvm::SmallVector<Part, 1> parts;
};

/// Dialects needed only between act and PTX. Each loaded dialect slows startup
/// and printing.
void registerGpuKernelDialects(mlir::DialectRegistry &registry);

struct GpuOptions {
  tile::PtxOptions ptx;
  /// The precision of f32 products.
  tile::DotPrecision f32Products = tile::DotPrecision::IEEE;
  /// A table in place of the target's own (tile::schedulesFor).
  std::string schedules;
  /// Not 0: schedules are drawn (tile::PlanOptions::seed).
  uint64_t drawSchedules = 0;
};

/// What kernels are planned for with these options.
tile::PlanOptions planOptions(const GpuOptions &options);

/// Compiles all kernels, in order. If one has no GPU form, the error names the
/// act operation and its location. Parts that cannot be one kernel, for
/// instance because their thread counts differ, yield no PTX.
mlir::FailureOr<std::vector<tile::CompiledKernel>>
compileGpuKernels(llvm::ArrayRef<LaunchKernel> kernels,
                  const GpuOptions &options, const tile::PtxCache &cache);

/// All kernels of the model stored under `key`, which identifies the model;
/// nothing if one has left the cache.
std::optional<std::vector<tile::CompiledKernel>>
findGpuKernels(const tile::PtxCache &cache, const std::string &key);
void storeGpuKernels(const tile::PtxCache &cache, const std::string &key,
                     llvm::ArrayRef<tile::CompiledKernel> kernels);

} // namespace act
#endif
