// SPDX-License-Identifier: Apache-2.0
//
// Cubins of a step's kernels, beside their PTX. A driver compiles PTX with its
// own assembler, whatever version that is, each time the step is loaded; a
// cubin was assembled here by a known one.
#ifndef ACT_PASSES_EMIT_STEPCUBINS_H
#define ACT_PASSES_EMIT_STEPCUBINS_H
#include "act/Artifact/Step.h"
#include "passes/emit/GpuLaunches.h"
#include <optional>

namespace act {

/// Whether an artifact gets cubins.
enum class Cubins {
  /// For a target whose PTX runs on one architecture only, like a cubin
  /// (sm_90a), if there is a ptxas that is right for wgmma.
  Auto,
  On, ///< always; without a ptxas that is an error
  Off
};

/// auto, on or off; nothing for another word.
std::optional<Cubins> cubinsNamed(llvm::StringRef word);

/// Assembles `kernels`, on all threads, and adds what it makes to `step`, whose
/// kernels are the same. What ptxas refuses is an error where the kernel's
/// first group stands.
mlir::LogicalResult addCubins(artifact::Step &step, const GpuLaunches &kernels,
                              Cubins cubins, const tile::PtxCache &cache,
                              mlir::Location loc);

} // namespace act
#endif
