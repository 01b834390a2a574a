// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_REPORT_WHATIF_H
#define ACT_PASSES_REPORT_WHATIF_H
#include "act/Report/WhatIf.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/memory/AllocatorReplay.h"

namespace act {

/// "24GB", or "24GB,budget" to add a row for --remat=budget=fit on that card.
struct WhatIfQuestion {
  int64_t deviceBytes = 0;
  bool budget = false;
  /// If set, what it reserves on a card of unlimited size must fit, instead of
  /// the total peak.
  std::optional<AllocatorChoice> allocator;
};
Result<WhatIfQuestion> parseWhatIf(const std::string &text);

/// The longest sequence and the largest batch of `module` whose total peak (the
/// report's total_peak_bytes) fits, by policy; only for the module's own policy
/// if it has one. Formulas narrow the search; the reported size and the next
/// larger one are measured on the written-out program. Letters must have sizes;
/// the module is not changed.
mlir::FailureOr<report::WhatIf> whatFits(mlir::ModuleOp module,
                                         const WhatIfQuestion &question);

} // namespace act
#endif
