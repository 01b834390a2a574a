// SPDX-License-Identifier: Apache-2.0
//
// The step's lists of parameters, states and scalars, and the operands that
// name an entry of them or a place in the arena.
#ifndef ACT_PASSES_EMIT_STEPTABLES_H
#define ACT_PASSES_EMIT_STEPTABLES_H
#include "act/Artifact/Step.h"
#include "passes/kernels/Flatten.h"
#include "passes/memory/MemoryModel.h"
#include <map>

namespace act {

artifact::TensorType tensorOf(mlir::RankedTensorType type);

class StepTables {
public:
  explicit StepTables(artifact::Step &step) : step(step) {}

  /// Lists parameters and, if the step `trains` them, their states. A layer's
  /// parameter becomes one entry per layer, as the checkpoint has it.
  void addParameters(mlir::ModuleOp module, bool trains);

  /// Where a value of the flattened program is at run time.
  artifact::Operand place(const Place &place, const ArenaPlan &plan,
                          const Program &program);
  /// A buffer that an effect acts on. These outlive the step and are not in the
  /// arena.
  artifact::Operand persistent(ParameterBuffer buffer,
                               const FlatParameter &parameter) const;

private:
  uint32_t scalar(const FlatPort &port);

  artifact::Step &step;
  std::map<std::pair<std::string, int64_t>, uint32_t> parameterIndex;
  std::map<std::pair<uint32_t, ParameterBuffer>, uint32_t> stateIndex;
};

} // namespace act
#endif
