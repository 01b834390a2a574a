// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint is two files: FILE, the weights under Hugging Face names, and
// FILE.state, all that training needs besides them (optimizer states, step,
// seed; the place in the data follows from those two). Where FILE is large it
// is shards with an index (act/Safetensors/Set.h), which is replaced as one
// file is.
//
// Both carry the same identifier, a hash of their contents. Saving writes
// FILE.state.next, then FILE, then renames FILE.state.next to FILE.state; each
// is replaced atomically. Whenever the process dies, one of the two state files
// belongs to the weights that are there:
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

/// Where the frozen parameters of a model that is trained in part come from; a
/// checkpoint of the trained ones goes on only beside the same.
enum class Base { Seed, Files };

/// `vocabulary` is JSON or empty.
Status saveCheckpoint(Model &model, const std::string &path,
                      const TrainingPosition &position, Base base,
                      const std::string &vocabulary,
                      const SaveOptions &options);

/// A checkpoint's files, opened and seen to belong together.
class Checkpoint {
public:
  static Result<Checkpoint> open(const std::string &path);
  TrainingPosition position;
  Base base = Base::Seed;
  /// That the states are those of the model; before anything is set.
  Status check(const Model &model) const;
  /// Sets them. After the weights, whose setting resets the master copies.
  Status setStates(Model &model) const;

private:
  Checkpoint(std::string path, safetensors::File state)
      : path(std::move(path)), state(std::move(state)) {}
  std::string path;
  safetensors::File state;
};

} // namespace act::run
#endif
