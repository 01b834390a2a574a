// SPDX-License-Identifier: Apache-2.0
//
// What every command starts with: the step on its device, and its first values.
#ifndef ACT_TOOLS_ACTRUN_OPENMODEL_H
#define ACT_TOOLS_ACTRUN_OPENMODEL_H
#include "tools/act-run/Options.h"
#include "tools/act-run/Weights.h"

namespace act::run {

/// options.file on options.device; a module is compiled for `wants` ("train" or
/// "infer").
Result<std::unique_ptr<Model>> openModel(const Options &options,
                                         const char *wants);

/// Every file that the options name can be read, and those with a header have a
/// right one; before anything that takes long.
Status checkInputs(const Options &options);

/// assign, and says what was noticed.
Result<Assignment> findWeights(const Model &model, const WeightFiles &files,
                               Missing missing = Missing::Adapters);

/// Initial values of the parameters that have no tensor, and the tensors of the
/// others; with --times says how long the former took.
Status setFirstValues(Model &model, const Options &options,
                      const Assignment &assignment, uint64_t seed);

} // namespace act::run
#endif
