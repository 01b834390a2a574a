// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_ACT_MEMORYMODEL_H
#define ACT_PASSES_ACT_MEMORYMODEL_H
#include "act/Report/MemoryReport.h"
#include "passes/act/ArenaPlan.h"

namespace act {
/// What `program` does with memory, as plain data for text, JSON and HTML.
mlir::FailureOr<report::MemoryReport> describeMemory(mlir::ModuleOp module,
                                                     const Program &program,
                                                     const ArenaPlan &plan);

/// What an allocator's replay looks at (AllocatorReplay.h), and no more: what
/// outlives a step, its buffers with their lifetimes, and as many points.
report::MemoryReport tensorsOf(mlir::ModuleOp module, const Program &program);

/// What the report's total_peak_bytes has beside peak_bytes: parameters, their
/// gradients, optimizer state, inputs and outputs of `program`.
int64_t persistentBytes(mlir::ModuleOp module, const Program &program);
} // namespace act
#endif
