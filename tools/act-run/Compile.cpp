// SPDX-License-Identifier: Apache-2.0
#include "tools/act-run/Compile.h"
#include "passes/act/Differentiate.h"
#include "passes/act/WriteStep.h"
#include "passes/emit/EmitStep.h"
#include "tools/act-run/ParseModule.h"

using namespace mlir;

namespace act::run {

Result<artifact::Step> compileModule(const std::string &path,
                                     const CompileOptions &options) {
  auto parsed = ParsedModule::open(path, options.threads);
  if (!parsed)
    return parsed.error();
  ModuleOp module = ***parsed;
  // The step asked for, unless the module has one.
  bool chosen = !options.optimizer.empty() || options.microBatches ||
                !options.lossAverage.empty();
  if (options.wants == "train" && chosen && !module.lookupSymbol(stepName)) {
    StepOptions step;
    if (!options.optimizer.empty())
      step.optimizer = options.optimizer;
    if (options.microBatches)
      step.microBatches = options.microBatches;
    if (!options.lossAverage.empty())
      step.lossAverage = options.lossAverage;
    if ((!module.lookupSymbol(gradName) && failed(differentiate(module))) ||
        failed(writeStep(module, step)))
      return (*parsed)->error("has no step and none can be written");
  }
  EmitOptions emit;
  emit.mode = options.wants;
  if (options.target != "host")
    emit.target = options.target;
  auto step = emitStep(module, emit);
  if (failed(step))
    return (*parsed)->error("cannot be compiled");
  return std::move(*step);
}

} // namespace act::run
