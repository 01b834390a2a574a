// SPDX-License-Identifier: Apache-2.0
//
// Moves weights between safetensors files with Hugging Face names and a model.
#ifndef ACT_TOOLS_ACTRUN_WEIGHTS_H
#define ACT_TOOLS_ACTRUN_WEIGHTS_H
#include "act/Safetensors/Set.h"
#include "tools/act-run/Model.h"

namespace act::run {

/// Opened files, folders and indexes (safetensors::Set), with headers checked
/// and data mapped. A base and its adapters form one set of names.
class WeightFiles {
public:
  static Result<WeightFiles> open(const std::vector<std::string> &paths);
  /// "base, adapters.safetensors"
  std::string names() const;
  /// A file's metadata under `key`; empty if no file has it.
  std::string metadata(const std::string &key) const;
  std::vector<safetensors::Set> sets;
  std::vector<std::string> paths; // as given
};

/// Which parameters may lack a tensor.
enum class Missing {
  Adapters, ///< a model's LoRA matrices, all of them or none
  Frozen,   ///< also parameters that are not trained
};

/// The tensor of each parameter, by the parameter's name, and notes for the
/// user.
struct Assignment {
  std::map<std::string, safetensors::Set::Entry> tensors;
  std::vector<std::string> notes;
};

/// Finds a tensor for every parameter. Missing, unknown and duplicate names and
/// wrong shapes are errors that list them, with these exceptions, which real
/// checkpoints need:
/// - a base model's prefix (`model.`, `transformer.`, `bert.`) may be absent or
///   additional throughout a set, and an adapter's (`base_model.model.`) is
///   removed;
/// - a tied parameter may have any of its names, or several if they agree;
/// - computed buffers (rotary inv_freq, gpt2's causal masks, position ids) and
///   bert's pooler are skipped;
/// - parameters that `missing` allows keep their initial values.
Result<Assignment> assign(const Model &model, const WeightFiles &files,
                          Missing missing = Missing::Adapters);

/// Sets parameters from their tensors, the others from the seed. Each tensor is
/// copied once, from the mapped file to its destination, on all cores; then its
/// file pages are released.
struct ValueTimes {
  uint64_t initialisedBytes = 0;
  double initialiseSeconds = 0;
};
Result<ValueTimes> setValues(Model &model, const Assignment &assignment,
                             uint64_t seed);

/// The time to write so many bytes once to fresh host memory, with as many
/// threads as initialisation uses: the yardstick for its speed.
double secondsToWrite(const Model &model, uint64_t bytes);

struct SaveOptions {
  bool whole = false; ///< also frozen parameters
  uint64_t maxShardBytes = 5'000'000'000;
};
/// The parameters to save: only the trained ones of a partly trained model,
/// unless options.whole.
std::vector<const Entity *> savedParameters(const Model &model,
                                            const SaveOptions &options);
/// Writes them in the model's element type (nf4 as F32), in shards if they are
/// large. A file of LoRA matrices alone uses PEFT's names.
Status saveWeights(Model &model, const std::string &path,
                   const safetensors::Metadata &metadata,
                   const SaveOptions &options);

} // namespace act::run
#endif
