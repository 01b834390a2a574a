// SPDX-License-Identifier: Apache-2.0
//
// Launches of a GPU's step that need nothing of each other, as one launch: the
// projections to queries, keys and values; the gradients of a product's
// factors; the updates of many parameters.
//
// What launches need of each other is read off their operands, which are ranges
// of memory in a plan that is made already: two of them conflict where one
// writes what the other touches. So a launch moves to an earlier one only if it
// conflicts with none of those between, nothing else changes, and no buffer
// moves.
#ifndef ACT_PASSES_EMIT_JOINLAUNCHES_H
#define ACT_PASSES_EMIT_JOINLAUNCHES_H
#include "act/Artifact/Step.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace act {

/// The launches of a function, each the numbers of those of `f` that it is, in
/// order. Only launches of one `kind` are one; a negative kind stays alone.
std::vector<std::vector<uint32_t>>
joinLaunches(const artifact::Function &f,
             llvm::function_ref<int64_t(uint32_t launch)> kind);

/// `f` as these launches: they have all operands of those that they are, their
/// kernels are `kernelOf(launches)`, and buffers live as long as somebody
/// touches them.
artifact::Function withLaunches(
    const artifact::Function &f,
    const std::vector<std::vector<uint32_t>> &launches,
    llvm::function_ref<uint32_t(const std::vector<uint32_t> &)> kernelOf);

} // namespace act
#endif
