// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_MEMORY_MEMORYMODEL_H
#define ACT_PASSES_MEMORY_MEMORYMODEL_H
#include "act/Report/MemoryReport.h"
#include "passes/memory/ArenaPlan.h"

namespace act {
/// On a module: the result of a recomputation budget in words
/// (BudgetAnswer::text). The report repeats it.
inline constexpr llvm::StringLiteral rematResultAttr = "act.remat_result";

/// The memory report of `program`, as plain data for text, JSON and HTML.
mlir::FailureOr<report::MemoryReport> describeMemory(mlir::ModuleOp module,
                                                     const Program &program,
                                                     const ArenaPlan &plan);

/// Only what an allocator replay needs (AllocatorReplay.h): persistent tensors,
/// buffers with their lifetimes, and the timeline's length.
report::MemoryReport tensorsOf(mlir::ModuleOp module, const Program &program);

/// total_peak_bytes minus peak_bytes of the report: parameters, their
/// gradients, optimizer state, inputs and outputs of `program`.
int64_t persistentBytes(mlir::ModuleOp module, const Program &program);
} // namespace act
#endif
