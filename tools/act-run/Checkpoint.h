// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint is two files: FILE, the weights under Hugging Face names, and
// FILE.state, all that training needs besides them (optimizer states, step,
// seed; the place in the data follows from those two).
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
#include "tools/act-run/Model.h"

namespace act::run {

struct TrainingPosition {
  uint64_t step = 0; // steps done
  uint64_t seed = 0;
};

/// `vocabulary` is JSON or empty.
Status saveCheckpoint(Model &model, const std::string &path,
                      const TrainingPosition &position,
                      const std::string &vocabulary);
Result<TrainingPosition> loadCheckpoint(Model &model, const std::string &path);

} // namespace act::run
#endif
