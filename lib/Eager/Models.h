// SPDX-License-Identifier: Apache-2.0
//
// Forward of the models as `transformers` 5 runs them in Python. What matters
// beside the operators is who holds a tensor and until when: a function's
// locals and arguments until it returns, a module's arguments until its
// __call__ does. So each function here is one of Python's, with the same
// locals.
#ifndef ACT_LIB_EAGER_MODELS_H
#define ACT_LIB_EAGER_MODELS_H
#include "lib/Eager/Checkpoint.h"
#include "lib/Eager/Ops.h"

namespace act::eager {

/// What every model's functions need to know.
struct Context {
  const Model &model;
  const Options &options;
  DType dtype;
  int64_t b, s, h, a, k, d, f, v;
};

/// scaled_dot_product_attention by the kernel that is asked for, as CUDA
/// prepares its operands. `mask` may be null.
Tensor attentionKernel(const Context &c, const Tensor &q, const Tensor &k,
                       const Tensor &v, const Tensor &mask, double p,
                       bool causal);
/// The function that `transformers` registers for SDPA. [b, a, s, d] -> [b, s,
/// a, d]
Tensor sdpaAttention(const Context &c, const Tensor &q, const Tensor &k,
                     const Tensor &v, const Tensor &mask, double p,
                     bool causal);
Tensor repeatKv(const Tensor &x, int64_t times);

/// What create_causal_mask makes, or null where it leaves masking to the
/// kernel.
Tensor causalMask(const Context &c, std::optional<int64_t> window);

/// The loss of a causal language model: f32, shifted labels.
Tensor causalLoss(const Context &c, Tensor logits, const Tensor &labels);

Tensor activation(const Context &c, const Tensor &x);

/// Runs the layers, `checkpoint`ed in segments if the options say so. `bind`
/// gives a layer with what it holds beside its arguments by position, the first
/// of which is what the layers pass on.
Tensor runLayers(const Context &c, Tensor hidden, const Tensors &others,
                 const std::function<Function(int)> &bind);

/// An attention module's results, of which the second may be null: `module` of
/// `hidden`, checkpointed if the options say so. It is kept then, with what it
/// holds.
std::pair<Tensor, Tensor> runAttention(
    const Context &c, const Tensor &hidden,
    const std::function<std::pair<Tensor, Tensor>(const Tensor &)> &module);

Tensor llamaLoss(const Context &c);
Tensor gpt2Loss(const Context &c);
Tensor bertLoss(const Context &c);

} // namespace act::eager
#endif
