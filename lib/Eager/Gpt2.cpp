// SPDX-License-Identifier: Apache-2.0
//
// gpt2 as transformers runs it. Inner scopes end where Python drops a
// temporary.
#include "lib/Eager/Models.h"

namespace act::eager {
namespace {

struct Layer {
  Tensor norm1, norm1Bias, qkv, qkvBias, proj, projBias;
  Tensor norm2, norm2Bias, up, upBias, down, downBias;
};

// Conv1D: a linear layer whose weight is [in, out].
Tensor conv1d(const Tensor &input, const Tensor &weight, const Tensor &bias) {
  Tensor flat = view(input, {-1, input.size(-1)});
  Tensor x = addmm(bias, flat, weight);
  flat = Tensor();
  Shape out = input.sizes();
  out.back() = weight.size(1);
  return view(x, out);
}

std::pair<Tensor, Tensor> eagerAttention(const Context &c, const Tensor &q,
                                         const Tensor &k, const Tensor &v,
                                         const Tensor &mask) {
  Tensor weights;
  {
    Tensor turned = transpose(k, -1, -2);
    Tensor scores = matmul(q, turned);
    weights = mulScalar(scores);
  }
  if (mask)
    weights = add(weights, mask);
  weights = softmax(weights);
  weights = dropout(weights, c.model.config.attentionDropout);
  Tensor out = matmul(weights, v);
  return {transpose(out, 1, 2), weights};
}

std::pair<Tensor, Tensor> attention(const Context &c, const Layer &w,
                                    const Tensor &hidden, const Tensor &mask) {
  Tensor q, k, v;
  {
    Tensor all = conv1d(hidden, w.qkv, w.qkvBias);
    Tensors parts = split(all, c.h, 2);
    q = parts[0], k = parts[1], v = parts[2];
  }
  auto heads = [&](const Tensor &x) {
    return transpose(view(x, {c.b, c.s, -1, c.d}), 1, 2);
  };
  k = heads(k);
  v = heads(v);
  q = heads(q);
  Tensor out, weights;
  if (c.options.attention == Attention::Eager)
    std::tie(out, weights) = eagerAttention(c, q, k, v, mask);
  else
    out =
        sdpaAttention(c, q, k, v, mask, c.model.config.attentionDropout, true);
  out = reshape(out, {c.b, c.s, -1});
  out = contiguous(out);
  out = conv1d(out, w.proj, w.projBias);
  out = dropout(out, c.model.config.residualDropout);
  return {out, weights};
}

Tensor mlp(const Context &c, const Layer &w, const Tensor &x) {
  Tensor hidden = conv1d(x, w.up, w.upBias);
  hidden = activation(c, hidden);
  hidden = conv1d(hidden, w.down, w.downBias);
  hidden = dropout(hidden, c.model.config.residualDropout);
  return hidden;
}

Tensor block(const Context &c, const Layer &w, const Tensor &x,
             const Tensor &mask) {
  Tensor residual = x;
  Tensor hidden = layerNorm(x, w.norm1, w.norm1Bias);
  auto [attended, weights] =
      runAttention(c, hidden, [&c, w, mask](const Tensor &given) {
        return attention(c, w, given, mask);
      });
  hidden = add(attended, residual);
  residual = hidden;
  hidden = layerNorm(hidden, w.norm2, w.norm2Bias);
  Tensor forwarded = mlp(c, w, hidden);
  hidden = add(residual, forwarded);
  return hidden;
}

using Layers =
    std::shared_ptr<const std::vector<Layer>>; // a recomputation needs them too

Tensor gpt2Model(const Context &c, const Layers &layers, const Tensor &wte,
                 const Tensor &wpe, const Tensor &norm, const Tensor &normBias,
                 const Tensor &given) {
  Tensor tokens = view(given, {-1, c.s});
  Tensor embeds = embedding(wte, tokens);
  Tensor positions;
  {
    Tensor range = make("arange", {c.s}, DType::I64);
    positions = elementwise("add", {range}, DType::I64);
    range = Tensor();
    positions = unsqueeze(positions, 0);
  }
  Tensor placed = embedding(wpe, positions);
  Tensor hidden = add(embeds, placed);
  Tensor mask = causalMask(c, std::nullopt);
  hidden = dropout(hidden, c.model.config.embeddingDropout);
  auto layer = [&](int i) -> Function {
    return [&c, layers, positions, i](const Tensors &given) {
      return block(c, (*layers)[i], given[0],
                   given.size() > 1 ? given[1] : Tensor());
    };
  };
  // The mask is an argument by position.
  hidden = runLayers(c, hidden, mask ? Tensors{mask} : Tensors{}, layer);
  hidden = layerNorm(hidden, norm, normBias);
  hidden = view(hidden, {-1, c.s, c.h});
  return hidden;
}

} // namespace

Tensor gpt2Loss(const Context &c) {
  // In the order of the module's definition, as in Llama.cpp.
  auto weight = [&](const char *name, const Shape &shape) {
    return parameter(name, shape, c.dtype);
  };
  Tensor wte = weight("wte.weight", {c.v, c.h});
  Tensor wpe = weight("wpe.weight", {c.model.config.maxPositions, c.h});
  auto layers = std::make_shared<std::vector<Layer>>(c.model.config.layers);
  for (Layer &w : *layers)
    w = {weight("ln_1.weight", {c.h}),
         weight("ln_1.bias", {c.h}),
         weight("attn.c_attn.weight", {c.h, 3 * c.h}),
         weight("attn.c_attn.bias", {3 * c.h}),
         weight("attn.c_proj.weight", {c.h, c.h}),
         weight("attn.c_proj.bias", {c.h}),
         weight("ln_2.weight", {c.h}),
         weight("ln_2.bias", {c.h}),
         weight("mlp.c_fc.weight", {c.h, c.f}),
         weight("mlp.c_fc.bias", {c.f}),
         weight("mlp.c_proj.weight", {c.f, c.h}),
         weight("mlp.c_proj.bias", {c.h})};
  Tensor norm = weight("ln_f.weight", {c.h}),
         normBias = weight("ln_f.bias", {c.h});
  Tensor head =
      c.model.config.tied ? wte : weight("lm_head.weight", {c.v, c.h});
  Tensor tokens = buffer("tokens", {c.b, c.s}, DType::I64);
  Tensor labels = buffer("labels", {c.b, c.s}, DType::I64);

  Tensor outputs = gpt2Model(c, layers, wte, wpe, norm, normBias, tokens);
  Tensor hidden = alias(outputs);
  Tensor logits = linear(hidden, head, Tensor());
  return causalLoss(c, logits, labels);
}

} // namespace act::eager
