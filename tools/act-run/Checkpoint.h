// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint is two files. FILE has the weights under Hugging Face names.
// FILE.state has everything else that training needs: optimizer states, step
// and seed (these two determine the position in the data). A large FILE is
// shards with an index (act/Safetensors/Set.h), which is replaced like one
// file.
//
// Both carry the same identifier, a hash of their contents. Saving writes
// FILE.state.next, then FILE, then renames FILE.state.next to FILE.state; each
// is replaced atomically. Whenever the process dies, one of the two state files
// matches the existing weights:
//
//   before FILE is replaced    old FILE   old FILE.state   (new .next ignored)
//   between the two            new FILE   old FILE.state    new .next  <- used
//   after the rename           new FILE   new FILE.state
#ifndef ACT_TOOLS_ACTRUN_CHECKPOINT_H
#define ACT_TOOLS_ACTRUN_CHECKPOINT_H
#include "tools/act-run/Weights.h"

namespace act::run {

struct TrainingPosition {
  uint64_t step = 0; // steps done
  uint64_t seed = 0;
};

/// The source of the frozen parameters of a partly trained model. A checkpoint
/// of the trained ones only resumes with the same source.
enum class Base { Seed, Files };

/// `vocabulary` is JSON or empty.
Status saveCheckpoint(Model &model, const std::string &path,
                      const TrainingPosition &position, Base base,
                      const std::string &vocabulary,
                      const SaveOptions &options);

/// A checkpoint's files, opened and checked to belong together.
class Checkpoint {
public:
  static Result<Checkpoint> open(const std::string &path);
  TrainingPosition position;
  Base base = Base::Seed;
  /// Checks that the states match the model. Call before anything is set.
  Status check(const Model &model) const;
  /// Sets the states. Call after setting the weights, which resets the master
  /// copies.
  Status setStates(Model &model) const;

private:
  Checkpoint(std::string path, safetensors::File state)
      : path(std::move(path)), state(std::move(state)) {}
  std::string path;
  safetensors::File state;
};

} // namespace act::run
#endif
