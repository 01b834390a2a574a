// SPDX-License-Identifier: Apache-2.0
//
// PTX as text, as LLVM prints it: kernels by other names, and many of them in
// one module.
//
// What LLVM prints for a kernel is a head (.version, .target, .address_size),
// declarations of what is elsewhere (.extern), variables of its own, and the
// entry. Two kernels that were compiled apart may call variables of their own
// by the same name; joined, each has its kernel's name before it.
#ifndef ACT_PASSES_TILETONVVM_PTXTEXT_H
#define ACT_PASSES_TILETONVVM_PTXTEXT_H
#include "act/Result.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace act::tile {

/// The entry `from` and its parameters (`from`_param_0, ...) by another name.
std::string renameEntry(llvm::StringRef ptx, llvm::StringRef from,
                        llvm::StringRef to);

struct PtxKernel {
  llvm::StringRef entry, text;
};
/// One module with all of them. Kernels for unlike targets are an error.
Result<std::string> joinPtx(llvm::ArrayRef<PtxKernel> kernels);

} // namespace act::tile
#endif
