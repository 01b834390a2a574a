// SPDX-License-Identifier: Apache-2.0
//
// Both variants of torch.utils.checkpoint (Checkpoint.h).
#include "lib/Eager/Checkpoint.h"
#include "lib/Eager/Ops.h"

namespace act::eager {

namespace {
struct StopRecomputation {};

/// Sets the hook and restores the old one on every exit, exceptions included.
class PackHook {
public:
  explicit PackHook(
      std::function<SavedTensor(const char *, const Tensor &)> hook)
      : before(std::move(session->pack)) {
    session->pack = std::move(hook);
  }
  ~PackHook() { session->pack = std::move(before); }

private:
  std::function<SavedTensor(const char *, const Tensor &)> before;
};
} // namespace

/// The first unpacking runs the function again and fills in all promises. An
/// exception stops the run at the last tensor that was promised: the early
/// stop.
Tensor Recomputation::unpack(size_t index) {
  if (!done) {
    again.resize(promised);
    size_t count = 0;
    try {
      GradMode on(true);
      PackHook hook([&](const char *name, const Tensor &tensor) {
        SavedTensor saved;
        saved.tensor = tensor.requiresGrad() ? detach(tensor) : tensor;
        again[count] = saved.tensor;
        if (++count == promised)
          throw StopRecomputation();
        return saved;
      });
      function(arguments);
    } catch (const StopRecomputation &) {
    }
    done = true;
  }
  return std::move(again[index]);
}

static Tensor reentrantCheckpoint(const Function &function,
                                  const Tensors &arguments) {
  Recorder node(checkpointNode, arguments);
  for (const Tensor &a : arguments)
    node.save("saved_tensors", a);
  Tensor out;
  {
    GradMode off(false);
    out = function(arguments);
  }
  node.finish({out}, [function](Node &n, Tensors &g) {
    Tensors inputs;
    for (size_t i = 0; i < n.saved.size(); ++i) {
      // Detached leaves end the inner graph, so that the inner engine stops at
      // the function's arguments. Their gradients are the node's results.
      Tensor original = n.unpack(i);
      Tensor input = detach(original);
      input->leaf = original.requiresGrad();
      inputs.push_back(input);
    }
    Tensor output;
    {
      GradMode on(true);
      output = function(inputs);
    }
    backward(output, g[0]);
    Tensors grads;
    for (const Tensor &input : inputs)
      grads.push_back(input->grad);
    return grads;
  });
  return out;
}

Tensor checkpoint(const Function &function, const Tensors &arguments,
                  bool reentrant) {
  if (reentrant)
    return reentrantCheckpoint(function, arguments);
  // The first run hands out numbers instead of keeping tensors.
  auto frame = std::make_shared<Recomputation>();
  frame->function = function;
  frame->arguments = arguments;
  PackHook hook([frame](const char *name, const Tensor &) {
    SavedTensor saved;
    saved.again = frame;
    saved.index = frame->promised++;
    return saved;
  });
  return function(arguments);
}

} // namespace act::eager
