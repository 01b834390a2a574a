// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_ACT_PAPERVIEW_H
#define ACT_PASSES_ACT_PAPERVIEW_H
#include "act/Report/Paper.h"
#include "mlir/IR/BuiltinOps.h"

namespace act {

/// What publications would say of `module`: all that come with act whose
/// figures fit, or the selection of that name or in that file. `right` is the
/// report of the same program. Works on the module it is given, whose letters
/// have sizes.
mlir::FailureOr<report::PaperReport> describePaper(mlir::ModuleOp module,
                                                   llvm::StringRef selection,
                                                   report::MemoryReport right);

} // namespace act
#endif
