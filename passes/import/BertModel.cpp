// SPDX-License-Identifier: Apache-2.0
//
// bert: three embeddings, layer norm after each block, attention to every token
// that the mask allows.
#include "passes/import/ModelBuilder.h"

using namespace mlir;

namespace act {

// Dropout's call sites.
static constexpr int64_t embeddingSite = 0, probabilitiesSite = 1,
                         attentionSite = 2, mlpSite = 3;

static void buildLayer(ModelBuilder &m) {
  const hf::ModelConfig &c = m.config;
  Value x = m.beginLayer("layer");
  Value q = m.linear("query", "query", "attention.self.query", x, true);
  Value k = m.linear("key", "key", "attention.self.key", x, true);
  Value v = m.linear("value", "value", "attention.self.value", x, true);
  q = m.splitHeads("query", q, "a");
  k = m.splitHeads("key", k, "a");
  v = m.splitHeads("value", v, "a");
  Value context = m.attention(q, k, v, {}, probabilitiesSite);
  Value attended = m.linear("attended", "attention_output",
                            "attention.output.dense", context, true);
  attended = m.dropout("attended", attended, c.residualDropout, attentionSite);
  x = m.layerNorm("attention_norm", m.layerPath + "attention.output.LayerNorm",
                  m.add("residual", attended, x));

  Value up = m.linear("up", "intermediate", "intermediate.dense", x, true);
  Value down =
      m.linear("down", "output", "output.dense", m.activation(up), true);
  down = m.dropout("down", down, c.residualDropout, mlpSite);
  m.endLayer(m.layerNorm("output_norm", m.layerPath + "output.LayerNorm",
                         m.add("residual", down, x)));
}

static Value embed(ModelBuilder &m, const std::string &path, Value table) {
  Value x = m.embedding("embedded", table, m.tokens, /*padded=*/true);
  // Every token has type 0, the default when a caller gives no types.
  Value types = m.parameter("token_type_embeddings",
                            path + "token_type_embeddings.weight", {"T", "h"});
  auto one = RankedTensorType::get({1}, m.b.getI32Type());
  Value zero = ConstantOp::create(m.b, m.at("type"), one,
                                  DenseElementsAttr::get(one, int32_t(0)));
  x = m.add("embedded", x, m.embedding("typed", types, zero));
  Value places = m.parameter("position_embeddings",
                             path + "position_embeddings.weight", {"P", "h"});
  x = m.add("embedded", x, m.embedding("placed", places, m.positions()));
  x = m.layerNorm("embeddings_norm", path + "LayerNorm", x);
  return m.dropout("embedded", x, m.config.embeddingDropout, embeddingSite);
}

// dense, activation, norm, then the product with the vocabulary table plus a
// bias.
static Value predict(ModelBuilder &m, Value x, Value table) {
  const std::string path = "cls.predictions.";
  Value dense =
      m.parameter("transform", path + "transform.dense.weight", {"h", "h"});
  Value bias = m.parameter("transform_bias", path + "transform.dense.bias",
                           {"h"}, InitKind::Zeros);
  x = m.activation(m.plainLinear("transformed", x, dense, bias, "h"));
  x = m.layerNorm("transform_norm", path + "transform.LayerNorm", x);
  if (!m.config.tied)
    table = m.parameter("decoder", path + "decoder.weight", {"V", "h"});
  // transformers saves this bias under two names.
  Value decoderBias = m.parameter("decoder_bias", path + "bias", {"V"},
                                  InitKind::Zeros, {path + "decoder.bias"});
  return m.plainLinear("logits", x, table, decoderBias, "V");
}

void buildBert(ModelBuilder &m) {
  const hf::ModelConfig &c = m.config;
  std::string model = m.prefix("bert.");
  m.beginForward();
  std::vector<std::string> alsoHead;
  if (c.tied && c.head == hf::Head::MaskedLM)
    alsoHead = {"cls.predictions.decoder.weight"};
  std::string path = model + "embeddings.";
  Value table = m.parameter("word_embeddings", path + "word_embeddings.weight",
                            {"V", "h"}, InitKind::Normal, alsoHead);
  Value x = embed(m, path, table);

  buildLayer(m);
  x = m.repeat("layer", "L", 0, c.layers, x);
  if (c.head == hf::Head::HiddenStates)
    return m.endForward("hidden_states", x);
  m.endWithLogits(predict(m, x, table));
}

} // namespace act
