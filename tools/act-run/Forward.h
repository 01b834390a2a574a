// SPDX-License-Identifier: Apache-2.0
//
// What infer and generate share: a model with its weights and its forward
// function, ready to run.
#ifndef ACT_TOOLS_ACTRUN_FORWARD_H
#define ACT_TOOLS_ACTRUN_FORWARD_H
#include "act/Safetensors/Safetensors.h"
#include "tools/act-run/Batches.h"
#include "tools/act-run/Options.h"

namespace act::run {

struct Forward {
  std::unique_ptr<Model> model;
  std::unique_ptr<Ports> ports;
  BatchShape shape;
  safetensors::Metadata metadata; // of the weights' file
};
/// Loads options.file, sets the weights from options.init (or the seed).
Result<Forward> openForward(const Options &options);

} // namespace act::run
#endif
