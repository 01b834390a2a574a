// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_EMIT_EMITSTEP_H
#define ACT_PASSES_EMIT_EMITSTEP_H
#include "act/Artifact/Step.h"
#include "act/Report/MemoryReport.h"
#include "dialects/act/Dialect.h"
#include "passes/emit/StepCubins.h"
#include "passes/kernels/Flatten.h"
#include "passes/tile-to-nvvm/CompileKernels.h"

namespace act {

struct EmitOptions {
  std::string mode;     ///< train, infer, or empty: train if there is a loss
  std::string target;   ///< a name in act/Target/Target.h; empty: the host
  std::string cpu;      ///< the host's, an LLVM CPU name; empty: this machine
  std::string cacheDir; ///< for compiled kernels, as KernelCache takes it
  std::string f32Products; ///< on a GPU: ieee, tf32 or bf16x3; empty: ieee
  /// On a GPU: merge independent launches.
  bool joinLaunches = true;
  std::string schedules;      ///< on a GPU: a file, for PlanOptions::schedules
  uint64_t drawSchedules = 0; ///< on a GPU, for tests: PlanOptions::seed
  Cubins cubins = Cubins::Auto; ///< on a GPU: of the artifact
  std::string kernelsFile;      ///< also write the kernels' linalg here
};

/// Compiles `module`, of any stage, and modifies it: pass a clone.
mlir::FailureOr<artifact::Step> emitStep(mlir::ModuleOp module,
                                         const EmitOptions &options);

/// Only the kernels, without a report; for a GPU. Does not modify `module`.
mlir::FailureOr<std::vector<tile::CompiledKernel>>
compileKernelsOf(mlir::ModuleOp module, const EmitOptions &options);

/// Adds to `report`, made for `program`, the number of launches on
/// options.target (a GPU) and the bytes that its kernels' blocks move
/// (passes/tile/BlockBytes.h). `program` was built from `module`.
mlir::LogicalResult addTarget(report::MemoryReport &report,
                              const Program &program, mlir::ModuleOp module,
                              const EmitOptions &options);

} // namespace act
#endif
