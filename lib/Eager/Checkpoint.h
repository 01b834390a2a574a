// SPDX-License-Identifier: Apache-2.0
//
// torch.utils.checkpoint, in both of its ways.
//
// Non-reentrant: the function runs and records a graph as always, but what its
// nodes keep is a promise. The first node that asks for its tensor makes the
// function run again, with a hook that takes what would be saved, in the same
// order, and that stops the run as soon as it has the last (early stop): the
// operators after it are not run. A tensor is let go as its node unpacks it.
//
// Reentrant: the function runs without a graph and is one node; in backward it
// runs again with a graph, all of it, and the engine runs inside the engine.
//
// Both keep the function's arguments, and what is bound to its other
// parameters.
#ifndef ACT_LIB_EAGER_CHECKPOINT_H
#define ACT_LIB_EAGER_CHECKPOINT_H
#include "lib/Eager/Autograd.h"

namespace act::eager {

/// From positional arguments to one result. What else it needs it holds.
using Function = std::function<Tensor(const Tensors &)>;

struct Recomputation {
  Function function;
  Tensors arguments;
  size_t promised = 0; // tensors that the first run wanted to save
  Tensors again;       // those of the second run that were not taken yet
  bool done = false;

  Tensor unpack(size_t index);
  void drop(size_t index) {
    if (index < again.size())
      again[index] = Tensor();
  }
};

/// What autograd records for a reentrant one.
inline constexpr const char *checkpointNode = "CheckpointFunctionBackward";

Tensor checkpoint(const Function &function, const Tensors &arguments,
                  bool reentrant);

} // namespace act::eager
#endif
