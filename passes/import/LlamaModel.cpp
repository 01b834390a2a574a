// SPDX-License-Identifier: Apache-2.0
//
// llama, mistral and qwen2: rms norm before each block, rope, grouped keys,
// gated mlp.
#include "passes/import/ModelBuilder.h"

using namespace mlir;

namespace act {

// Dropout's call sites.
static constexpr int64_t probabilitiesSite = 0;

// The tables are the same for all layers, so @forward computes them once.
static void shareRope(ModelBuilder &m) {
  const hf::ModelConfig &c = m.config;
  OpBuilder &b = m.b;
  DenseF64ArrayAttr llama3;
  FloatAttr linear;
  const hf::RopeScaling &s = c.ropeScaling;
  if (s.kind == hf::RopeScaling::Kind::Llama3)
    llama3 =
        b.getDenseF64ArrayAttr({s.factor, s.lowFreqFactor, s.highFreqFactor,
                                double(s.originalMaxPositions)});
  if (s.kind == hf::RopeScaling::Kind::Linear)
    linear = b.getF64FloatAttr(s.factor);
  auto table = m.type({m.sequence(), "p"}, b.getF32Type());
  auto rope =
      RopeTableOp::create(b, b.getUnknownLoc(), table, table, m.positions(),
                          b.getF64FloatAttr(c.ropeTheta), llama3, linear);
  m.share("cos", rope.getCos());
  m.share("sin", rope.getSin());
}

static void buildLayer(ModelBuilder &m, StringRef name,
                       std::optional<int64_t> window) {
  const hf::ModelConfig &c = m.config;
  StringRef kv = m.kvHeads();
  Value x = m.beginLayer(name);
  Value normed =
      m.rmsNorm("input_layernorm", m.layerPath + "input_layernorm", x);
  Value q = m.linear("query", "q_proj", "self_attn.q_proj", normed, c.qkvBias);
  Value k = m.linear("key", "k_proj", "self_attn.k_proj", normed, c.qkvBias);
  Value v = m.linear("value", "v_proj", "self_attn.v_proj", normed, c.qkvBias);
  q = m.splitHeads("query", q, "a");
  k = m.splitHeads("key", k, kv);
  v = m.splitHeads("value", v, kv);
  Value cos = m.shared("cos"), sin = m.shared("sin");
  q = RopeOp::create(m.b, m.at("query"), q, cos, sin);
  k = RopeOp::create(m.b, m.at("key"), k, cos, sin);
  Value context = m.attention(q, k, v, {true, window}, probabilitiesSite);
  Value attended = m.linear("attended", "o_proj", "self_attn.o_proj", context,
                            c.attentionBias);
  x = m.add("residual", x, attended);

  normed = m.rmsNorm("post_attention_layernorm",
                     m.layerPath + "post_attention_layernorm", x);
  Value gate =
      m.linear("gate", "gate_proj", "mlp.gate_proj", normed, c.mlpBias);
  Value up = m.linear("up", "up_proj", "mlp.up_proj", normed, c.mlpBias);
  Value down = m.linear("down", "down_proj", "mlp.down_proj", m.gated(gate, up),
                        c.mlpBias);
  m.endLayer(m.add("residual", x, down), k, v);
}

void buildLlama(ModelBuilder &m) {
  const hf::ModelConfig &c = m.config;
  std::string model = m.prefix("model.");
  m.beginForward();
  Value table = m.causalTable("embed_tokens", model + "embed_tokens.weight");
  Value x = m.embedding("embedded", table, m.tokens, /*padded=*/true);
  shareRope(m);

  // Layers differ only in their window; those without a window come first.
  int64_t full = c.slidingWindow ? c.firstWindowLayer : c.layers;
  bool both = full > 0 && full < c.layers;
  if (full > 0) {
    buildLayer(m, both ? "full_layer" : "layer", std::nullopt);
    x = m.repeat(both ? "full_layer" : "layer", both ? "F" : "L", 0, full, x);
  }
  if (full < c.layers) {
    buildLayer(m, both ? "window_layer" : "layer", c.slidingWindow);
    x = m.repeat(both ? "window_layer" : "layer", both ? "W" : "L", full,
                 c.layers - full, x);
  }

  x = m.rmsNorm("norm", model + "norm", x);
  m.endCausal(x, table);
}

} // namespace act
