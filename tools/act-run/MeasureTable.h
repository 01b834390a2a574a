// SPDX-License-Identifier: Apache-2.0
//
// What was predicted beside what a run really took.
#ifndef ACT_TOOLS_ACTRUN_MEASURETABLE_H
#define ACT_TOOLS_ACTRUN_MEASURETABLE_H
#include "runtime/measure/Measure.h"
#include "tools/act-run/Model.h"

namespace act::run {

/// Prints the table to standard output, and as JSON to `jsonPath` when it is
/// not empty. An error when the step obtained memory it had not planned (on the
/// host, where memory is not a simulator's or a driver's own), wrote beyond its
/// arena or scratch, or when parameters, gradients or optimizer state were
/// allocated with another size than the artifact's report predicts.
Status printMeasurement(Model &model, const std::string &function,
                        const measure::Obtained &obtained,
                        const std::string &jsonPath);

} // namespace act::run
#endif
