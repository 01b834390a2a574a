// SPDX-License-Identifier: Apache-2.0
// bert with its masked-language-model head. No attention mask is given.
#include "lib/Eager/Models.h"

namespace act::eager {
namespace {

struct Norm {
  Tensor weight, bias;
};
struct Dense {
  Tensor weight, bias;
};
struct Layer {
  Dense q, k, v, out;
  Norm attended;
  Dense up, down;
  Norm forwarded;
};
struct Weights {
  Tensor words, places, types, positionIds;
  Norm embedded, transformed;
  std::shared_ptr<std::vector<Layer>> layers; // a recomputation needs them too
  Dense transform, decoder;
};

Tensor dense(const Tensor &x, const Dense &w) {
  return linear(x, w.weight, w.bias);
}
Tensor norm(const Tensor &x, const Norm &w) {
  return layerNorm(x, w.weight, w.bias);
}

// Token types are not given, so transformers takes a row of zeros from a buffer
// and expands it. Position and type embeddings are added one by one, each sum a
// tensor of its own.
Tensor embeddings(const Context &c, const Weights &w, const Tensor &tokens) {
  Tensor positions = slice(w.positionIds, 1, 0, c.s);
  Tensor types = make("gather", {1, c.s}, DType::I64, {positions});
  Tensor expandedTypes = expand(types, {c.b, c.s});
  Tensor words = embedding(w.words, tokens);
  Tensor typed = embedding(w.types, expandedTypes);
  Tensor sum = add(words, typed);
  Tensor placed = embedding(w.places, positions);
  sum = add(sum, placed);
  sum = norm(sum, w.embedded);
  sum = dropout(sum, c.model.config.embeddingDropout);
  return sum;
}

std::pair<Tensor, Tensor> eagerAttention(const Context &c, const Tensor &q,
                                         const Tensor &k, const Tensor &v) {
  Tensor weights;
  {
    Tensor turned = transpose(k, 2, 3);
    Tensor scores = matmul(q, turned);
    weights = mulScalar(scores);
  }
  weights = softmax(weights);
  weights = dropout(weights, c.model.config.attentionDropout);
  Tensor out = matmul(weights, v);
  out = contiguous(transpose(out, 1, 2));
  return {out, weights};
}

std::pair<Tensor, Tensor> selfAttention(const Context &c, const Layer &w,
                                        const Tensor &hidden) {
  auto heads = [&](const Dense &weights) {
    Tensor flat = dense(hidden, weights);
    return transpose(view(flat, {c.b, c.s, -1, c.d}), 1, 2);
  };
  Tensor q = heads(w.q), k = heads(w.k), v = heads(w.v);
  Tensor out, weights;
  if (c.options.attention == Attention::Eager)
    std::tie(out, weights) = eagerAttention(c, q, k, v);
  else
    out = sdpaAttention(c, q, k, v, Tensor(), c.model.config.attentionDropout,
                        false);
  out = contiguous(reshape(out, {c.b, c.s, -1}));
  return {out, weights};
}

// BertSelfOutput and BertOutput.
Tensor output(const Context &c, const Dense &w, const Norm &n,
              const Tensor &given, const Tensor &input) {
  Tensor hidden = dense(given, w);
  hidden = dropout(hidden, c.model.config.residualDropout);
  Tensor sum = add(hidden, input);
  return norm(sum, n);
}

std::pair<Tensor, Tensor> attention(const Context &c, const Layer &w,
                                    const Tensor &x) {
  auto [attended, weights] = selfAttention(c, w, x);
  Tensor out = output(c, w.out, w.attended, attended, x);
  return {out, weights};
}

Tensor bertLayer(const Context &c, const Layer &w, const Tensor &x) {
  auto [attended, weights] = runAttention(
      c, x, [&c, w](const Tensor &given) { return attention(c, w, given); });
  Tensor intermediate;
  {
    Tensor up = dense(attended, w.up);
    intermediate = activation(c, up);
  }
  return output(c, w.down, w.forwarded, intermediate, attended);
}

Tensor bertModel(const Context &c, const Weights &w, const Tensor &tokens) {
  Tensor embedded = embeddings(c, w, tokens);
  auto layer = [&](int i) -> Function {
    return [&c, layers = w.layers, i](const Tensors &given) {
      return bertLayer(c, (*layers)[i], given[0]);
    };
  };
  return runLayers(c, embedded, {}, layer);
}

Tensor predictions(const Context &c, const Weights &w, const Tensor &x) {
  Tensor hidden;
  {
    Tensor transformed = dense(x, w.transform);
    transformed = activation(c, transformed);
    hidden = norm(transformed, w.transformed);
  }
  return dense(hidden, w.decoder);
}

} // namespace

Tensor bertLoss(const Context &c) {
  auto weight = [&](const char *name, const Shape &shape) {
    return parameter(name, shape, c.dtype);
  };
  auto dense = [&](const char *w, const char *b, int64_t out, int64_t in) {
    return Dense{weight(w, {out, in}), weight(b, {out})};
  };
  auto norm = [&](const char *w, const char *b) {
    return Norm{weight(w, {c.h}), weight(b, {c.h})};
  };
  Weights w;
  w.words = weight("word_embeddings.weight", {c.v, c.h});
  const int64_t places = c.model.config.maxPositions;
  w.places = weight("position_embeddings.weight", {places, c.h});
  w.types =
      weight("token_type_embeddings.weight", {c.model.config.tokenTypes, c.h});
  w.embedded = norm("embeddings.LayerNorm.weight", "embeddings.LayerNorm.bias");
  w.positionIds = buffer("position_ids", {1, places}, DType::I64);
  Tensor typeIds = buffer("token_type_ids", {1, places}, DType::I64);
  w.layers = std::make_shared<std::vector<Layer>>();
  for (int64_t i = 0; i < c.model.config.layers; ++i)
    w.layers->push_back(
        {dense("attention.self.query.weight", "attention.self.query.bias", c.h,
               c.h),
         dense("attention.self.key.weight", "attention.self.key.bias", c.h,
               c.h),
         dense("attention.self.value.weight", "attention.self.value.bias", c.h,
               c.h),
         dense("attention.output.dense.weight", "attention.output.dense.bias",
               c.h, c.h),
         norm("attention.output.LayerNorm.weight",
              "attention.output.LayerNorm.bias"),
         dense("intermediate.dense.weight", "intermediate.dense.bias", c.f,
               c.h),
         dense("}.output.dense.weight", "}.output.dense.bias", c.h, c.f),
         norm("}.output.LayerNorm.weight", "}.output.LayerNorm.bias")});
  w.transform =
      dense("transform.dense.weight", "transform.dense.bias", c.h, c.h);
  w.transformed =
      norm("transform.LayerNorm.weight", "transform.LayerNorm.bias");
  w.decoder = {c.model.config.tied ? w.words
                                   : weight("decoder.weight", {c.v, c.h}),
               weight("predictions.bias", {c.v})};
  // An untied head has two biases and never uses one of them.
  Tensor unused;
  if (!c.model.config.tied)
    unused = buffer("decoder.bias", {c.v}, c.dtype);
  Tensor tokens = buffer("tokens", {c.b, c.s}, DType::I64);
  Tensor labels = buffer("labels", {c.b, c.s}, DType::I64);

  Tensor outputs = bertModel(c, w, tokens);
  Tensor scores = predictions(c, w, outputs);
  Tensor flat = view(scores, {-1, c.v}), target = view(labels, {-1});
  return crossEntropy(flat, target);
}

} // namespace act::eager
