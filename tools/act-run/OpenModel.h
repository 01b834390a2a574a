// SPDX-License-Identifier: Apache-2.0
//
// The start of every command: the step on its device and its initial values.
#ifndef ACT_TOOLS_ACTRUN_OPENMODEL_H
#define ACT_TOOLS_ACTRUN_OPENMODEL_H
#include "tools/act-run/Options.h"
#include "tools/act-run/Weights.h"

namespace act::run {

/// options.file on options.device; a module is compiled for `wants` ("train" or
/// "infer").
Result<std::unique_ptr<Model>> openModel(const Options &options,
                                         const char *wants);

/// Checks that every input file can be read and has a valid header, if any.
/// Call before anything slow.
Status checkInputs(const Options &options);

/// assign(), and prints its notes.
Result<Assignment> findWeights(const Model &model, const WeightFiles &files,
                               Missing missing = Missing::Adapters);

/// Sets parameters from their tensors, the others to initial values. With
/// --times it prints how long the latter took.
Status setFirstValues(Model &model, const Options &options,
                      const Assignment &assignment, uint64_t seed);

} // namespace act::run
#endif
