// SPDX-License-Identifier: Apache-2.0
// llama, mistral and qwen2; their Python differs only in masks and biases.
#include "lib/Eager/Models.h"

namespace act::eager {
namespace {

struct Layer {
  Tensor inputNorm, q, k, v, o, qBias, kBias, vBias, oBias;
  Tensor postNorm, gate, up, down, gateBias, upBias, downBias;
};

// In f32, as the Python does it: several of these tensors are saved, which is
// why norms take so much memory in eager mode.
Tensor rmsNorm(const Tensor &x, const Tensor &weight) {
  Tensor hidden = to(x, DType::F32), variance;
  {
    Tensor square = pow(hidden, 2);
    variance = meanLast(square);
  }
  {
    Tensor scale;
    {
      Tensor shifted = addScalar(variance);
      scale = rsqrt(shifted);
    }
    hidden = mul(hidden, scale);
  }
  Tensor narrow = to(hidden, x.dtype());
  return mul(weight, narrow);
}

Tensor rotateHalf(const Tensor &x) {
  int64_t half = x.size(-1) / 2;
  Tensor first = slice(x, -1, 0, half), second = slice(x, -1, half, x.size(-1));
  Tensor turned = neg(second);
  return cat({turned, first}, -1);
}

Tensor rotated(const Tensor &x, const Tensor &cos, const Tensor &sin) {
  Tensor straight = mul(x, cos), across;
  {
    Tensor half = rotateHalf(x);
    across = mul(half, sin);
  }
  return add(straight, across);
}

std::pair<Tensor, Tensor> eagerAttention(const Context &c, const Tensor &q,
                                         const Tensor &k, const Tensor &v,
                                         const Tensor &mask) {
  Tensor keys = repeatKv(k, c.a / c.k), values = repeatKv(v, c.a / c.k),
         weights;
  {
    Tensor turned = transpose(keys, 2, 3);
    Tensor scores = matmul(q, turned);
    turned = Tensor();
    weights = mulScalar(scores);
  }
  if (mask)
    weights = add(weights, mask);
  {
    Tensor wide = softmax(weights, DType::F32);
    weights = to(wide, q.dtype());
  }
  weights = dropout(weights, c.model.config.attentionDropout);
  Tensor out = matmul(weights, values);
  out = contiguous(transpose(out, 1, 2));
  return {out, weights};
}

std::pair<Tensor, Tensor> attention(const Context &c, const Layer &w,
                                    const Tensor &hidden, const Tensor &mask,
                                    const Tensor &cosTable,
                                    const Tensor &sinTable) {
  auto heads = [&](const Tensor &weight, const Tensor &bias) {
    Tensor flat = linear(hidden, weight, bias);
    return transpose(view(flat, {c.b, c.s, -1, c.d}), 1, 2);
  };
  Tensor q = heads(w.q, w.qBias), k = heads(w.k, w.kBias),
         v = heads(w.v, w.vBias);
  {
    Tensor cos = unsqueeze(cosTable, 1), sin = unsqueeze(sinTable, 1);
    Tensor newQ = rotated(q, cos, sin);
    Tensor newK = rotated(k, cos, sin);
    q = newQ;
    k = newK;
  }
  Tensor out, weights;
  if (c.options.attention == Attention::Eager)
    std::tie(out, weights) = eagerAttention(c, q, k, v, mask);
  else
    out =
        sdpaAttention(c, q, k, v, mask, c.model.config.attentionDropout, true);
  out = contiguous(reshape(out, {c.b, c.s, -1}));
  out = linear(out, w.o, w.oBias);
  return {out, weights};
}

Tensor mlp(const Context &c, const Layer &w, const Tensor &x) {
  Tensor product;
  {
    Tensor activated;
    {
      Tensor gate = linear(x, w.gate, w.gateBias);
      activated = activation(c, gate);
    }
    Tensor up = linear(x, w.up, w.upBias);
    product = mul(activated, up);
  }
  return linear(product, w.down, w.downBias);
}

Tensor decoderLayer(const Context &c, const Layer &w, const Tensor &x,
                    const Tensor &mask, const Tensor &cos, const Tensor &sin,
                    const Tensor &positions) {
  Tensor residual = x;
  Tensor hidden = rmsNorm(x, w.inputNorm);
  auto [attended, weights] = runAttention(
      c, hidden, [&c, w, mask, cos, sin, positions](const Tensor &given) {
        return attention(c, w, given, mask, cos, sin);
      });
  hidden = attended;
  attended = Tensor();
  hidden = add(residual, hidden);
  residual = hidden;
  hidden = rmsNorm(hidden, w.postNorm);
  hidden = mlp(c, w, hidden);
  return add(residual, hidden);
}

// Made once for all layers, without gradients. The angles are in f32 whatever
// the model's type is; only the tables are narrowed.
std::pair<Tensor, Tensor> rotaryTables(const Context &c,
                                       const Tensor &positions,
                                       const Tensor &frequencies) {
  GradMode off(false);
  Tensor angles;
  {
    Tensor column = unsqueeze(positions, -1);
    Tensor wide = to(column, DType::F32);
    angles = elementwise("mul", {wide, frequencies}, DType::F32);
  }
  Tensor both = cat({angles, angles}, -1);
  auto table = [&](const char *function) {
    Tensor plain = elementwise(function, {both}, DType::F32);
    return elementwise("mul", {plain}, DType::F32);
  };
  Tensor cos = table("cos");
  Tensor sin = table("sin");
  Tensor narrowCos = to(cos, c.dtype);
  Tensor narrowSin = to(sin, c.dtype);
  return {narrowCos, narrowSin};
}

using Layers =
    std::shared_ptr<const std::vector<Layer>>; // a recomputation needs them too

// In the order of the module's definition, which is the order in which moving a
// model to the GPU allocates them.
Layers layerWeights(const Context &c) {
  const hf::ModelConfig &config = c.model.config;
  auto bias = [&](bool wanted, const char *name, int64_t n) {
    return wanted ? parameter(name, {n}, c.dtype) : Tensor();
  };
  auto all = std::make_shared<std::vector<Layer>>(config.layers);
  for (Layer &w : *all) {
    w.q = parameter("self_attn.q_proj.weight", {c.a * c.d, c.h}, c.dtype);
    w.qBias = bias(config.qkvBias, "self_attn.q_proj.bias", c.a * c.d);
    w.k = parameter("self_attn.k_proj.weight", {c.k * c.d, c.h}, c.dtype);
    w.kBias = bias(config.qkvBias, "self_attn.k_proj.bias", c.k * c.d);
    w.v = parameter("self_attn.v_proj.weight", {c.k * c.d, c.h}, c.dtype);
    w.vBias = bias(config.qkvBias, "self_attn.v_proj.bias", c.k * c.d);
    w.o = parameter("self_attn.o_proj.weight", {c.h, c.a * c.d}, c.dtype);
    w.oBias = bias(config.attentionBias, "self_attn.o_proj.bias", c.h);
    w.gate = parameter("mlp.gate_proj.weight", {c.f, c.h}, c.dtype);
    w.gateBias = bias(config.mlpBias, "mlp.gate_proj.bias", c.f);
    w.up = parameter("mlp.up_proj.weight", {c.f, c.h}, c.dtype);
    w.upBias = bias(config.mlpBias, "mlp.up_proj.bias", c.f);
    w.down = parameter("mlp.down_proj.weight", {c.h, c.f}, c.dtype);
    w.downBias = bias(config.mlpBias, "mlp.down_proj.bias", c.h);
    w.inputNorm = parameter("input_layernorm.weight", {c.h}, c.dtype);
    w.postNorm = parameter("post_attention_layernorm.weight", {c.h}, c.dtype);
  }
  return all;
}

// A checkpointed function binds one mask.
void checkOneMaskEach(const Context &c, int64_t windowFrom, const Tensor &mask,
                      const Tensor &windowMask) {
  int64_t from = 0;
  for (int64_t to : c.options.segments) {
    if (from < windowFrom && windowFrom < to && (mask || windowMask))
      throw Unsupported{"layers " + std::to_string(from) + " to " +
                        std::to_string(to - 1) +
                        " are checkpointed together and need two masks, with a "
                        "window and without"};
    from = to;
  }
}

Tensor llamaModel(const Context &c, const Layers &layers, const Tensor &table,
                  const Tensor &norm, const Tensor &tokens,
                  const Tensor &frequencies) {
  const hf::ModelConfig &config = c.model.config;
  Tensor embeds = embedding(table, tokens);
  Tensor positions;
  {
    Tensor range = make("arange", {c.s}, DType::I64);
    positions = elementwise("add", {range}, DType::I64);
    range = Tensor();
    positions = unsqueeze(positions, 0);
  }
  // qwen2 makes a mask of both kinds if any layer slides; mistral only one.
  int64_t windowFrom =
      config.slidingWindow ? config.firstWindowLayer : config.layers;
  bool full = config.family == hf::Family::Qwen2 || !config.slidingWindow;
  Tensor mask = full ? causalMask(c, std::nullopt) : Tensor();
  Tensor windowMask = windowFrom < config.layers
                          ? causalMask(c, config.slidingWindow)
                          : Tensor();
  Tensor hidden = embeds;
  auto [cos, sin] = rotaryTables(c, positions, frequencies);
  checkOneMaskEach(c, windowFrom, mask, windowMask);
  // Checkpointing keeps the bound values, positions included.
  auto layer = [&, cos = cos, sin = sin](int i) -> Function {
    return [&c, layers, i, mask = i >= windowFrom ? windowMask : mask, cos, sin,
            positions](const Tensors &given) {
      return decoderLayer(c, (*layers)[i], given[0], mask, cos, sin, positions);
    };
  };
  hidden = runLayers(c, hidden, {}, layer);
  hidden = rmsNorm(hidden, norm);
  return hidden;
}

} // namespace

Tensor llamaLoss(const Context &c) {
  Tensor table = parameter("embed_tokens.weight", {c.v, c.h}, c.dtype);
  Layers layers = layerWeights(c);
  Tensor norm = parameter("norm.weight", {c.h}, c.dtype);
  Tensor frequencies = buffer("inv_freq", {c.d / 2}, DType::F32);
  Tensor original = buffer("original_inv_freq", {c.d / 2}, DType::F32);
  Tensor head = c.model.config.tied
                    ? table
                    : parameter("lm_head.weight", {c.v, c.h}, c.dtype);
  Tensor tokens = buffer("tokens", {c.b, c.s}, DType::I64);
  Tensor labels = buffer("labels", {c.b, c.s}, DType::I64);

  Tensor outputs = llamaModel(c, layers, table, norm, tokens, frequencies);
  Tensor hidden = alias(outputs);
  Tensor logits = linear(hidden, head, Tensor());
  return causalLoss(c, logits, labels);
}

} // namespace act::eager
