// SPDX-License-Identifier: Apache-2.0
//
// What a run writes is looked at before it begins, so that hours of training do
// not end in a folder that is not there, or in a log where the weights were.
#ifndef ACT_TOOLS_ACTRUN_OUTPUTS_H
#define ACT_TOOLS_ACTRUN_OUTPUTS_H
#include "act/Result.h"
#include "tools/act-run/Options.h"

namespace act::run {

/// Every output can be written, is no other output, and is no input; only a
/// checkpoint may replace the weights that the run began with. Links are
/// followed. Nothing is left behind, and what exists keeps its contents.
Status checkOutputs(const Options &options);

} // namespace act::run
#endif
