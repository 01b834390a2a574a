// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_REPORT_PAPERVIEW_H
#define ACT_PASSES_REPORT_PAPERVIEW_H
#include "act/Report/Paper.h"
#include "mlir/IR/BuiltinOps.h"

namespace act {

/// Counts `module`'s memory as publications do: with every selection shipped
/// with act whose figures fit, or with the one named or in the file
/// `selection`. `right` is the report of the same program. Modifies the module,
/// whose letters must have sizes.
mlir::FailureOr<report::PaperReport> describePaper(mlir::ModuleOp module,
                                                   llvm::StringRef selection,
                                                   report::MemoryReport right);

} // namespace act
#endif
