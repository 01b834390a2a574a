// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_ACT_WHATIF_H
#define ACT_PASSES_ACT_WHATIF_H
#include "act/Report/WhatIf.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/act/AllocatorReplay.h"

namespace act {

/// 24GB; or 24GB,budget: with a row for --remat=budget=fit of that card.
struct WhatIfQuestion {
  int64_t deviceBytes = 0;
  bool budget = false;
  /// With one, what it reserves on a card of any size is to fit, in place of
  /// the total peak.
  std::optional<AllocatorChoice> allocator;
};
Result<WhatIfQuestion> parseWhatIf(const std::string &text);

/// The longest sequence and the largest batch of `module` whose total peak (the
/// report's total_peak_bytes) fits, by policy; only the module's own policy if
/// it has one. Formulas say where to look, and the program of the size that is
/// named has been written out, as has the next. Letters have sizes; the module
/// stays as it is.
mlir::FailureOr<report::WhatIf> whatFits(mlir::ModuleOp module,
                                         const WhatIfQuestion &question);

} // namespace act
#endif
