// SPDX-License-Identifier: Apache-2.0
//
// gpt2: learned positions, layer norm before each block, one product for query,
// key and value, weights stored [in, out].
#include "passes/import/ModelBuilder.h"

using namespace mlir;

namespace act {

// Dropout's call sites.
static constexpr int64_t embeddingSite = 0, probabilitiesSite = 1,
                         attentionSite = 2, mlpSite = 3;

static void buildLayer(ModelBuilder &m) {
  const hf::ModelConfig &c = m.config;
  Value x = m.beginLayer("layer");
  Value normed = m.layerNorm("ln_1", m.layerPath + "ln_1", x);
  Value qkv = m.linear("qkv", "c_attn", "attn.c_attn", normed, true);
  RankedTensorType part = m.perToken({"a*d"});
  auto split =
      SplitOp::create(m.b, m.at("qkv"), TypeRange{part, part, part}, qkv);
  Value q = m.splitHeads("query", split.getResult(0), "a");
  Value k = m.splitHeads("key", split.getResult(1), "a");
  Value v = m.splitHeads("value", split.getResult(2), "a");
  Value context = m.attention(q, k, v, {true, std::nullopt}, probabilitiesSite);
  Value attended =
      m.linear("attended", "attn_c_proj", "attn.c_proj", context, true);
  attended = m.dropout("attended", attended, c.residualDropout, attentionSite);
  x = m.add("residual", x, attended);

  normed = m.layerNorm("ln_2", m.layerPath + "ln_2", x);
  Value up = m.linear("up", "c_fc", "mlp.c_fc", normed, true);
  Value down =
      m.linear("down", "mlp_c_proj", "mlp.c_proj", m.activation(up), true);
  down = m.dropout("down", down, c.residualDropout, mlpSite);
  m.endLayer(m.add("residual", x, down));
}

void buildGpt2(ModelBuilder &m) {
  const hf::ModelConfig &c = m.config;
  std::string model = m.prefix("transformer.");
  m.beginForward();
  Value table = m.causalTable("wte", model + "wte.weight");
  Value x = m.embedding("embedded", table, m.tokens, /*padded=*/true);
  Value places = m.parameter("wpe", model + "wpe.weight", {"P", "h"});
  x = m.add("embedded", x, m.embedding("placed", places, m.positions()));
  x = m.dropout("embedded", x, c.embeddingDropout, embeddingSite);

  buildLayer(m);
  x = m.repeat("layer", "L", 0, c.layers, x);

  x = m.layerNorm("ln_f", model + "ln_f", m.answered(x));
  m.endCausal(x, table);
}

} // namespace act
