// SPDX-License-Identifier: Apache-2.0
//
// The time that moving values to the host costs by the model of OpCost.h, if
// copies run concurrently with kernels and as early as memory allows:
//
//   kernels  |--a--|--b--|--c--|--d--|...  waits  |--e--|
//   away           |===a's result===|      until its memory is used again
//   back                       |==========|  from when its memory is free until
//                                            a kernel reads it
//
// Each direction of the link does one copy at a time. Time that kernels wait is
// not hidden behind compute. The host device runs copies in launch order.
#ifndef ACT_PASSES_MEMORY_OFFLOADTIMES_H
#define ACT_PASSES_MEMORY_OFFLOADTIMES_H
#include "act/Report/MemoryReport.h"
#include "passes/memory/ArenaPlan.h"
#include "passes/memory/OpCost.h"

namespace act {

/// On a module that moves values to the host: the rates used for that choice:
/// flops, bytes and link bytes per second.
inline constexpr llvm::StringLiteral offloadRatesAttr = "act.offload_rates";
void setOffloadRates(mlir::ModuleOp module, const Rates &rates);

/// Empty if `program` has no copies.
std::optional<report::Offload>
offloadOf(mlir::ModuleOp module, const Program &program, const ArenaPlan &plan);

} // namespace act
#endif
