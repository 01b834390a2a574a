// SPDX-License-Identifier: Apache-2.0
//
// Gives a flattened function its memory: offsets of the plan become operands of
// launches. Nothing about memory is decided here; planArena does that.
#ifndef ACT_PASSES_EMIT_PLACEFUNCTION_H
#define ACT_PASSES_EMIT_PLACEFUNCTION_H
#include "passes/emit/StepKernels.h"
#include "passes/emit/StepTables.h"

namespace act {

struct PlacedFunction {
  const Program *program;
  ArenaPlan plan;
  artifact::Function function; // its launches name kernels of StepKernels
  std::vector<int> layers;     // the layer of each launch
};

/// Plans the memory of `program` and writes its launches, one for each kernel
/// of a group. On a GPU, scratch follows the planned arena.
mlir::FailureOr<PlacedFunction> placeFunction(const std::string &name,
                                              const Program &program,
                                              const StepKernels &kernels,
                                              StepTables &tables, bool onGpu,
                                              mlir::Location loc);

} // namespace act
#endif
