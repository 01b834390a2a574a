// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_ACT_WHATIF_H
#define ACT_PASSES_ACT_WHATIF_H
#include "act/Report/WhatIf.h"
#include "mlir/IR/BuiltinOps.h"

namespace act {

/// The longest sequence and the largest batch of `module` whose total peak (the
/// report's total_peak_bytes) is at most `deviceBytes`, by policy; only the
/// module's own policy if it has one. Formulas say where to look, and the program
/// of the size that is named has been written out, as has the next. Letters have
/// sizes; the module stays as it is.
mlir::FailureOr<report::WhatIf> whatFits(mlir::ModuleOp module, int64_t deviceBytes);

} // namespace act
#endif
