// SPDX-License-Identifier: Apache-2.0
//
// Compares predicted memory with what a run really took.
#ifndef ACT_TOOLS_ACTRUN_MEASURETABLE_H
#define ACT_TOOLS_ACTRUN_MEASURETABLE_H
#include "runtime/measure/Measure.h"
#include "tools/act-run/Model.h"

namespace act::run {

/// Prints the table to standard output, and as JSON to `jsonPath` if that is
/// not empty. An error if
/// - the step obtained unplanned memory (checked only on the host, where none
///   belongs to a simulator or driver);
/// - the step wrote beyond its arena or scratch;
/// - the size of parameters, gradients or optimizer state differs from the
///   prediction in the artifact's report.
Status printMeasurement(Model &model, const std::string &function,
                        const measure::Obtained &obtained,
                        const std::string &jsonPath);

} // namespace act::run
#endif
