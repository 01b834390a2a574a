// SPDX-License-Identifier: Apache-2.0
//
// Shared by infer and generate: a model with its weights and its forward
// function, ready to run.
#ifndef ACT_TOOLS_ACTRUN_FORWARD_H
#define ACT_TOOLS_ACTRUN_FORWARD_H
#include "tools/act-run/Batches.h"
#include "tools/act-run/OpenModel.h"

namespace act::run {

struct Forward {
  std::unique_ptr<Model> model;
  std::unique_ptr<Ports> ports;
  BatchShape shape;
  WeightFiles files;
  Assignment assignment;
};
/// Loads options.file and finds its weights in options.init.
Result<Forward> openForward(const Options &options);
/// Sets the weights; initialises missing ones from the seed.
Status setWeights(Forward &forward, const Options &options);

} // namespace act::run
#endif
