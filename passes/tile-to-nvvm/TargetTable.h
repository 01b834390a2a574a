// SPDX-License-Identifier: Apache-2.0
//
// Which operations of the llvm and nvvm dialects LLVM can compile for which
// GPU. LLVM has no such query: it aborts the process instead.
#ifndef ACT_PASSES_TILETONVVM_TARGETTABLE_H
#define ACT_PASSES_TILETONVVM_TARGETTABLE_H
#include "mlir/IR/Operation.h"
#include <string>

namespace act::tile {

/// Empty if `op` can be translated for `chip`; else the rest of a sentence that
/// begins with the operation's name.
std::string whyNotOn(llvm::StringRef chip, mlir::Operation *op);

} // namespace act::tile
#endif
