// SPDX-License-Identifier: Apache-2.0
//
// Merges independent launches of a GPU step: the projections to queries, keys
// and values; the gradients of a product's factors; the updates of many
// parameters.
//
// Dependences come from operands, which are memory ranges of a finished plan:
// two launches conflict if one writes memory that the other touches. A launch
// joins an earlier one only if it conflicts with none in between. Nothing else
// changes, and no buffer moves.
#ifndef ACT_PASSES_EMIT_JOINLAUNCHES_H
#define ACT_PASSES_EMIT_JOINLAUNCHES_H
#include "act/Artifact/Step.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace act {

/// The merged launches of a function, each a list of launch numbers of `f`, in
/// order. Only launches of equal `kind` merge; a negative kind stays alone.
std::vector<std::vector<uint32_t>>
joinLaunches(const artifact::Function &f,
             llvm::function_ref<int64_t(uint32_t launch)> kind);

/// `f` with these merged launches. Each has the operands of all its parts and
/// the kernel `kernelOf(launches)`; buffer lifetimes cover all their uses.
artifact::Function withLaunches(
    const artifact::Function &f,
    const std::vector<std::vector<uint32_t>> &launches,
    llvm::function_ref<uint32_t(const std::vector<uint32_t> &)> kernelOf);

} // namespace act
#endif
