// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_EMIT_EMITSTEP_H
#define ACT_PASSES_EMIT_EMITSTEP_H
#include "act/Artifact/Step.h"
#include "dialects/act/Dialect.h"
#include "passes/tile-to-nvvm/CompileKernels.h"

namespace act {

struct EmitOptions {
  std::string mode;        ///< train, infer, or empty: train if there is a loss
  std::string target;      ///< one of ptxChips(); empty: the host
  std::string cpu;         ///< of the host: an LLVM CPU name; empty: this machine
  std::string cacheDir;    ///< of GPU kernels, as PtxCache takes it
  std::string kernelsFile; ///< also write the kernels' linalg here
};

struct CompiledStep {
  artifact::Step step;
  /// What the step's code was put together from, in the order of its kernels;
  /// empty for the host.
  std::vector<tile::CompiledKernel> gpuKernels;
};

/// Compiles `module`, of any stage. Works on the module it is given: hand it a
/// clone.
mlir::FailureOr<CompiledStep> compileStep(mlir::ModuleOp module, const EmitOptions &options);

/// The step alone.
mlir::FailureOr<artifact::Step> emitStep(mlir::ModuleOp module, const EmitOptions &options);

} // namespace act
#endif
