// SPDX-License-Identifier: Apache-2.0
//
// Weights between a safetensors file under Hugging Face names and a model.
#ifndef ACT_TOOLS_ACTRUN_WEIGHTS_H
#define ACT_TOOLS_ACTRUN_WEIGHTS_H
#include "act/Safetensors/Safetensors.h"
#include "tools/act-run/Model.h"

namespace act::run {

/// Sets every parameter from the file. Names that are missing, unknown or of
/// another shape are errors that list them, with these exceptions, which real
/// checkpoints need:
/// - a base model's prefix (`model.`, `transformer.`, `bert.`) may be absent or
///   additional throughout;
/// - a tied parameter may stand under any of its names, or under several if
///   they agree;
/// - buffers that are computed (rotary inv_freq, gpt2's causal masks, position
///   ids) and bert's pooler are skipped;
/// - LoRA adapters may be missing: they keep their initial values.
/// `notes` receives a line for what was skipped.
Status loadWeights(Model &model, const safetensors::File &file,
                   const std::string &path, std::vector<std::string> &notes);

/// Writes all parameters in the model's element type (nf4 as F32).
Status saveWeights(Model &model, const std::string &path,
                   const safetensors::Metadata &metadata);

} // namespace act::run
#endif
