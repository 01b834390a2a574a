// SPDX-License-Identifier: Apache-2.0
//
// What every command starts with: the step on its device, and its first values.
#ifndef ACT_TOOLS_ACTRUN_OPENMODEL_H
#define ACT_TOOLS_ACTRUN_OPENMODEL_H
#include "act/Safetensors/Safetensors.h"
#include "tools/act-run/Model.h"
#include "tools/act-run/Options.h"

namespace act::run {

/// options.file on options.device; a module is compiled for `wants` ("train" or
/// "infer").
Result<std::unique_ptr<Model>> openModel(const Options &options,
                                         const char *wants);

/// Values from the seed, then those that options.init has. Returns that file's
/// metadata.
Result<safetensors::Metadata> initialise(Model &model, const Options &options,
                                         uint64_t seed);

} // namespace act::run
#endif
