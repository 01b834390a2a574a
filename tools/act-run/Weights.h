// SPDX-License-Identifier: Apache-2.0
//
// Weights between safetensors files under Hugging Face names and a model.
#ifndef ACT_TOOLS_ACTRUN_WEIGHTS_H
#define ACT_TOOLS_ACTRUN_WEIGHTS_H
#include "act/Safetensors/Set.h"
#include "tools/act-run/Model.h"

namespace act::run {

/// Files, folders and indexes (safetensors::Set), opened: their headers are
/// checked, their data is mapped. A base and its adapters are one set of names.
class WeightFiles {
public:
  static Result<WeightFiles> open(const std::vector<std::string> &paths);
  /// "base, adapters.safetensors"
  std::string names() const;
  /// What a file says about itself under `key`; empty where none does.
  std::string metadata(const std::string &key) const;
  std::vector<safetensors::Set> sets;
  std::vector<std::string> paths; // as they were named
};

/// What a parameter may do without.
enum class Missing {
  Adapters, ///< all of a model's LoRA matrices, or none
  Frozen,   ///< and whatever is not trained
};

/// The tensor of each parameter, by the parameter's name, and what a user
/// should know.
struct Assignment {
  std::map<std::string, safetensors::Set::Entry> tensors;
  std::vector<std::string> notes;
};

/// Finds a tensor for every parameter. Names that are missing, unknown, given
/// twice or of another shape are errors that list them, with these exceptions,
/// which real checkpoints need:
/// - a base model's prefix (`model.`, `transformer.`, `bert.`) may be absent or
///   additional throughout a set, and an adapter's (`base_model.model.`) is
///   taken off;
/// - a tied parameter may stand under any of its names, or under several if
///   they agree;
/// - buffers that are computed (rotary inv_freq, gpt2's causal masks, position
///   ids) and bert's pooler are skipped;
/// - what `missing` says keeps its initial values.
Result<Assignment> assign(const Model &model, const WeightFiles &files,
                          Missing missing = Missing::Adapters);

/// Initial values from the seed for parameters that have no tensor, and the
/// tensors' for the others: each is copied once, from the mapped file to where
/// it belongs, on all cores, and its pages of the file are given back.
struct ValueTimes {
  uint64_t initialisedBytes = 0;
  double initialiseSeconds = 0;
};
Result<ValueTimes> setValues(Model &model, const Assignment &assignment,
                             uint64_t seed);

/// How long it takes to write so many bytes, once, to fresh memory of the host,
/// on as many threads as initialising takes: what that is measured by.
double secondsToWrite(const Model &model, uint64_t bytes);

struct SaveOptions {
  bool whole = false; ///< frozen parameters, too
  uint64_t maxShardBytes = 5'000'000'000;
};
/// The parameters that are saved: of a model that is trained in part those that
/// are trained, unless the whole is asked for.
std::vector<const Entity *> savedParameters(const Model &model,
                                            const SaveOptions &options);
/// Writes them in the model's element type (nf4 as F32), in shards where they
/// are large. LoRA matrices alone have the names that PEFT gives them.
Status saveWeights(Model &model, const std::string &path,
                   const safetensors::Metadata &metadata,
                   const SaveOptions &options);

} // namespace act::run
#endif
