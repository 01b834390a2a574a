// SPDX-License-Identifier: Apache-2.0
//
// What moving values to the host costs by the model of RematCost.h, if copies
// run beside kernels as early as memory allows:
//
//   kernels  |--a--|--b--|--c--|--d--|...  waits  |--e--|
//   away           |===a's result===|      until its memory is used again
//   back                       |==========|  from when its memory is free until
//                                            a kernel reads it
//
// Each direction of the link does one copy after the other. What kernels wait
// for is not hidden behind compute. The host device copies in its turn.
#ifndef ACT_PASSES_ACT_OFFLOADTIMES_H
#define ACT_PASSES_ACT_OFFLOADTIMES_H
#include "act/Report/MemoryReport.h"
#include "passes/act/ArenaPlan.h"
#include "passes/act/RematCost.h"

namespace act {

/// On a module in which values move: the rates they were chosen by, flops,
/// bytes and the link's bytes, per second.
inline constexpr llvm::StringLiteral offloadRatesAttr = "act.offload_rates";
void setOffloadRates(mlir::ModuleOp module, const Rates &rates);

/// Nothing where `program` copies nothing.
std::optional<report::Offload>
offloadOf(mlir::ModuleOp module, const Program &program, const ArenaPlan &plan);

} // namespace act
#endif
