// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_REPORT_PASSES_H
#define ACT_PASSES_REPORT_PASSES_H
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace act {
#define GEN_PASS_DECL
#include "passes/report/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/report/Passes.h.inc"

/// The memory report, which goes to `*out`: options do not name a file.
std::unique_ptr<mlir::Pass> createMemoryReportPass(std::string *out);
} // namespace act
#endif
