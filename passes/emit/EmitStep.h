// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_EMIT_EMITSTEP_H
#define ACT_PASSES_EMIT_EMITSTEP_H
#include "act/Artifact/Step.h"
#include "dialects/act/Dialect.h"

namespace act {

struct EmitOptions {
  std::string mode;           ///< train, infer, or empty: train if there is a loss
  std::string cpu;            ///< an LLVM CPU name; empty: this machine
  std::string kernelsFile;    ///< also write the kernels' linalg here
};

/// Compiles `module`, of any stage, for the host. Works on the module it is
/// given: hand it a clone.
mlir::FailureOr<artifact::Step> emitStep(mlir::ModuleOp module, const EmitOptions &options);

} // namespace act
#endif
