// SPDX-License-Identifier: Apache-2.0
//
// torch.utils.checkpoint, in both variants.
//
// Non-reentrant: the function runs and records a graph as usual, but its nodes
// keep promises instead of tensors. When the first node unpacks its tensor, the
// function runs again. A hook takes the tensors that would be saved, in the
// same order, and stops the run at the last one (early stop), so that later
// operators do not run. A tensor is released when its node unpacks it.
//
// Reentrant: the function runs without a graph and is one node. In backward all
// of it runs again with a graph, and the engine runs inside the engine.
//
// Both keep the function's arguments and the values bound to its other
// parameters.
#ifndef ACT_LIB_EAGER_CHECKPOINT_H
#define ACT_LIB_EAGER_CHECKPOINT_H
#include "lib/Eager/Autograd.h"

namespace act::eager {

/// From positional arguments to one result. It captures anything else it needs.
using Function = std::function<Tensor(const Tensors &)>;

struct Recomputation {
  Function function;
  Tensors arguments;
  size_t promised = 0; // tensors that the first run wanted to save
  Tensors again;       // from the second run, not unpacked yet
  bool done = false;

  Tensor unpack(size_t index);
  void drop(size_t index) {
    if (index < again.size())
      again[index] = Tensor();
  }
};

/// The autograd node of a reentrant checkpoint.
inline constexpr const char *checkpointNode = "CheckpointFunctionBackward";

Tensor checkpoint(const Function &function, const Tensors &arguments,
                  bool reentrant);

} // namespace act::eager
#endif
