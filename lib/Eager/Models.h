// SPDX-License-Identifier: Apache-2.0
//
// Forward of the models as `transformers` 5 runs them in Python. Besides the
// operators, references matter: a function's locals and arguments hold their
// tensors until it returns, a module's arguments until its __call__ returns. So
// each function here mirrors a Python function, with the same locals.
#ifndef ACT_LIB_EAGER_MODELS_H
#define ACT_LIB_EAGER_MODELS_H
#include "lib/Eager/Checkpoint.h"
#include "lib/Eager/Ops.h"

namespace act::eager {

/// Shared by the functions of every model.
struct Context {
  const Model &model;
  const Options &options;
  DType dtype;
  int64_t b, s, h, a, k, d, f, v;
};

/// scaled_dot_product_attention by the chosen kernel, with the operands
/// prepared as on CUDA. `mask` may be null.
Tensor attentionKernel(const Context &c, const Tensor &q, const Tensor &k,
                       const Tensor &v, const Tensor &mask, double p,
                       bool causal);
/// The function that `transformers` registers for SDPA. [b, a, s, d] -> [b, s,
/// a, d]
Tensor sdpaAttention(const Context &c, const Tensor &q, const Tensor &k,
                     const Tensor &v, const Tensor &mask, double p,
                     bool causal);
Tensor repeatKv(const Tensor &x, int64_t times);

/// The result of create_causal_mask; null if the kernel does the masking.
Tensor causalMask(const Context &c, std::optional<int64_t> window);

/// The loss of a causal language model: f32, shifted labels.
Tensor causalLoss(const Context &c, Tensor logits, const Tensor &labels);

Tensor activation(const Context &c, const Tensor &x);

/// Runs the layers, `checkpoint`ed in segments if the options say so. `bind`
/// returns a layer with its bound values. Its first positional argument is the
/// hidden state that the layers pass on.
Tensor runLayers(const Context &c, Tensor hidden, const Tensors &others,
                 const std::function<Function(int)> &bind);

/// The results of `module` on `hidden`; the second may be null. The module is
/// checkpointed if the options say so, and then kept with its captures.
std::pair<Tensor, Tensor> runAttention(
    const Context &c, const Tensor &hidden,
    const std::function<std::pair<Tensor, Tensor>(const Tensor &)> &module);

Tensor llamaLoss(const Context &c);
Tensor gpt2Loss(const Context &c);
Tensor bertLoss(const Context &c);

} // namespace act::eager
#endif
