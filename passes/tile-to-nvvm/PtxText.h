// SPDX-License-Identifier: Apache-2.0
//
// Edits PTX as text, in the form LLVM prints: renames kernels and joins many
// into one module.
//
// LLVM prints a kernel as a head (.version, .target, .address_size),
// declarations of external symbols (.extern), its own variables, and the entry.
// Kernels compiled separately may use the same name for their own variables; in
// a joined module each gets its kernel's name as a prefix.
#ifndef ACT_PASSES_TILETONVVM_PTXTEXT_H
#define ACT_PASSES_TILETONVVM_PTXTEXT_H
#include "act/Result.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace act::tile {

/// Renames the entry `from` and its parameters (`from`_param_0, ...).
std::string renameEntry(llvm::StringRef ptx, llvm::StringRef from,
                        llvm::StringRef to);

/// Blocks of a cluster, along x, that a kernel's text requires; 0 where it has
/// none, or clusters along other dimensions.
uint32_t clusterIn(llvm::StringRef ptx);

struct PtxKernel {
  llvm::StringRef entry, text;
};
/// Joins all kernels into one module. Different targets are an error.
Result<std::string> joinPtx(llvm::ArrayRef<PtxKernel> kernels);

} // namespace act::tile
#endif
