// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_EMIT_EMITSTEP_H
#define ACT_PASSES_EMIT_EMITSTEP_H
#include "act/Artifact/Step.h"
#include "act/Report/MemoryReport.h"
#include "dialects/act/Dialect.h"
#include "passes/act/Flatten.h"
#include "passes/tile-to-nvvm/CompileKernels.h"

namespace act {

struct EmitOptions {
  std::string mode;     ///< train, infer, or empty: train if there is a loss
  std::string target;   ///< one of ptxChips(); empty: the host
  std::string cpu;      ///< of the host: an LLVM CPU name; empty: this machine
  std::string cacheDir; ///< of compiled kernels, as KernelCache takes it
  std::string f32Products; ///< of a GPU: ieee, tf32 or bf16x3; empty: ieee
  /// Of a GPU: launches that need nothing of each other are one.
  bool joinLaunches = true;
  std::string kernelsFile; ///< also write the kernels' linalg here
};

/// Compiles `module`, of any stage. Works on the module it is given: hand it a
/// clone.
mlir::FailureOr<artifact::Step> emitStep(mlir::ModuleOp module,
                                         const EmitOptions &options);

/// The kernels alone, which take no report; for a GPU. Leaves `module` as it
/// is.
mlir::FailureOr<std::vector<tile::CompiledKernel>>
compileKernelsOf(mlir::ModuleOp module, const EmitOptions &options);

/// Says in `report`, which is of `program`, how many launches it takes on
/// options.target, a GPU, and what the blocks of its kernels move
/// (passes/tile/BlockBytes.h). `program` is of `module`.
mlir::LogicalResult addTarget(report::MemoryReport &report,
                              const Program &program, mlir::ModuleOp module,
                              const EmitOptions &options);

} // namespace act
#endif
