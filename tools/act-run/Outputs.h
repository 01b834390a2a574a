// SPDX-License-Identifier: Apache-2.0
//
// Checks outputs before a run begins, so that hours of training do not end with
// a missing folder or a log that replaced the weights.
#ifndef ACT_TOOLS_ACTRUN_OUTPUTS_H
#define ACT_TOOLS_ACTRUN_OUTPUTS_H
#include "act/Result.h"
#include "tools/act-run/Options.h"

namespace act::run {

/// Checks that every output is writable and is neither another output nor an
/// input. Only a checkpoint may replace the weights that the run began with.
/// Follows links. Leaves no files behind and changes none.
Status checkOutputs(const Options &options);

} // namespace act::run
#endif
