// SPDX-License-Identifier: Apache-2.0
//
// Decoders with rms norms, rope and a gated mlp, of the parts that the config
// has: llama and those like it (lib/HuggingFace/types).
#include "passes/import/ModelBuilder.h"

using namespace mlir;

namespace act {

// Dropout's call sites.
static constexpr int64_t probabilitiesSite = 0, attentionSite = 1, mlpSite = 2;

// The tables are the same for all layers, so @forward computes them once;
// layers with a window may have others.
static void shareRope(ModelBuilder &m, StringRef suffix, double theta,
                      const hf::RopeScaling &s) {
  OpBuilder &b = m.b;
  DenseF64ArrayAttr llama3;
  FloatAttr linear;
  if (s.kind == hf::RopeScaling::Kind::Llama3)
    llama3 =
        b.getDenseF64ArrayAttr({s.factor, s.lowFreqFactor, s.highFreqFactor,
                                double(s.originalMaxPositions)});
  if (s.kind == hf::RopeScaling::Kind::Linear)
    linear = b.getF64FloatAttr(s.factor);
  hf::RopeFrequencies made =
      hf::ropeFrequencies(theta, s, m.config.headDim, m.config.maxPositions,
                          longestSequence(m.config, m.options));
  DenseF64ArrayAttr frequencies;
  if (!made.turns.empty())
    frequencies = b.getDenseF64ArrayAttr(made.turns);
  FloatAttr scaled;
  if (made.scale != 1)
    scaled = b.getF64FloatAttr(made.scale);
  auto table = m.type({m.sequence(), "p"}, b.getF32Type());
  auto rope = RopeTableOp::create(b, b.getUnknownLoc(), table, table,
                                  m.positions(), b.getF64FloatAttr(made.theta),
                                  llama3, linear, frequencies, scaled);
  m.share(("cos" + suffix).str(), rope.getCos());
  m.share(("sin" + suffix).str(), rope.getSin());
}

struct Projected {
  Value q, k, v;
};

static Projected project(ModelBuilder &m, Value x) {
  const hf::ModelConfig &c = m.config;
  StringRef kv = m.kvHeads();
  Projected p;
  if (c.fusedProjections) {
    Value qkv = m.linear("qkv", "qkv_proj", "self_attn.qkv_proj", x, false);
    Type own = m.perToken({"a*d"}),
         other = m.perToken({kv == "a" ? "a*d" : "d*k"});
    auto split =
        SplitOp::create(m.b, m.at("qkv"), TypeRange{own, other, other}, qkv);
    p = {split->getResult(0), split->getResult(1), split->getResult(2)};
  } else {
    p.q = m.linear("query", "q_proj", "self_attn.q_proj", x, c.qkvBias);
    p.k = m.linear("key", "k_proj", "self_attn.k_proj", x, c.qkvBias);
    p.v = m.linear("value", "v_proj", "self_attn.v_proj", x, c.qkvBias);
  }
  p.q = m.splitHeads("query", p.q, "a");
  p.k = m.splitHeads("key", p.k, kv);
  p.v = m.splitHeads("value", p.v, kv);
  if (c.qkNorm) {
    p.q = m.rmsNorm("q_norm", m.layerPath + "self_attn.q_norm", p.q, "d");
    p.k = m.rmsNorm("k_norm", m.layerPath + "self_attn.k_norm", p.k, "d");
  }
  return p;
}

static Value mlp(ModelBuilder &m, Value x) {
  const hf::ModelConfig &c = m.config;
  Value gate, up;
  if (c.fusedProjections) {
    Value both =
        m.linear("gate_up", "gate_up_proj", "mlp.gate_up_proj", x, false);
    Type half = m.perToken({"f"});
    auto split =
        SplitOp::create(m.b, m.at("gate_up"), TypeRange{half, half}, both);
    gate = split->getResult(0);
    up = split->getResult(1);
  } else {
    gate = m.linear("gate", "gate_proj", "mlp.gate_proj", x, c.mlpBias);
    up = m.linear("up", "up_proj", "mlp.up_proj", x, c.mlpBias);
  }
  return m.linear("down", "down_proj", "mlp.down_proj", m.gated(gate, up),
                  c.mlpBias);
}

/// One layer of the function that is built.
static void layerOn(ModelBuilder &m, Value &x, bool slides) {
  const hf::ModelConfig &c = m.config;
  auto norm = [&](StringRef symbol, Value x) {
    return m.rmsNorm(symbol, m.layerPath + symbol, x);
  };
  StringRef tables = slides && c.windowRopeTheta ? "_window" : "";
  Projected p = project(m, norm("input_layernorm", x));
  Value cos = m.shared(("cos" + tables).str()),
        sin = m.shared(("sin" + tables).str());
  p.q = RopeOp::create(m.b, m.at("query"), p.q, cos, sin);
  p.k = RopeOp::create(m.b, m.at("key"), p.k, cos, sin);
  Visible visible{true, slides ? c.slidingWindow : std::nullopt};
  Value context = m.attention(p.q, p.k, p.v, visible, probabilitiesSite);
  Value attended = m.linear("attended", "o_proj", "self_attn.o_proj", context,
                            c.attentionBias);
  // With norms behind both blocks, the one before the mlp has another name.
  StringRef before = "post_attention_layernorm";
  if (c.outputNorms) {
    attended = norm(before, attended);
    before = "pre_feedforward_layernorm";
  }
  attended = m.dropout("attended", attended, c.residualDropout, attentionSite);
  x = m.add("residual", x, attended);

  Value down = mlp(m, norm(before, x));
  if (c.outputNorms)
    down = norm("post_feedforward_layernorm", down);
  down = m.dropout("down", down, c.residualDropout, mlpSite);
  x = m.add("residual", x, down);
}

static void buildLayer(ModelBuilder &m, StringRef name, bool slides) {
  Value x = m.beginLayer(name);
  layerOn(m, x, slides);
  m.endLayer(x);
}

/// Layers that alternate: a function has as many as the pattern, and is
/// repeated C times. What is left over, all with a window, is repeated on its
/// own.
static Value buildAlternating(ModelBuilder &m, Value x) {
  const hf::ModelConfig &c = m.config;
  const int64_t period = c.fullEvery, cycles = c.layers / period,
                rest = c.layers % period;
  if (cycles) {
    Value inner = m.beginLayer("layers", period);
    for (int64_t i = 0; i < period; ++i) {
      m.nextLayer(period, i, cycles, "_" + std::to_string(i));
      layerOn(m, inner, c.slides(i));
    }
    m.endLayer(inner);
    x = m.repeat("layers", "C", 0, cycles, x);
  }
  if (rest) {
    m.nextLayer(1, cycles * period, rest, cycles ? "_rest" : "");
    Value inner = m.beginLayer("layer");
    layerOn(m, inner, /*slides=*/true);
    m.endLayer(inner);
    x = m.repeat("layer", cycles ? "W" : "L", 0, rest, x);
  }
  return x;
}

/// A number as the framework has it, which is of the type of x.
static double roundedTo(Value x, double number) {
  auto type = cast<FloatType>(getElementTypeOrSelf(x.getType()));
  APFloat value(number);
  bool inexact;
  value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                &inexact);
  return value.convertToDouble();
}

void buildDecoder(ModelBuilder &m) {
  const hf::ModelConfig &c = m.config;
  std::string model = m.prefix("model.");
  m.beginForward();
  Value table = m.causalTable("embed_tokens", model + "embed_tokens.weight");
  Value x = m.embedding("embedded", table, m.tokens, /*padded=*/true);
  if (c.embeddingScale != 1)
    x = ScaleOp::create(m.b, m.at("embedded"), x,
                        m.b.getF64FloatAttr(roundedTo(x, c.embeddingScale)));
  shareRope(m, "", c.ropeTheta, c.ropeScaling);
  if (c.windowRopeTheta)
    shareRope(m, "_window", *c.windowRopeTheta, {});

  // Layers differ only in their window.
  if (c.slidingWindow && c.fullEvery) {
    x = buildAlternating(m, x);
  } else {
    int64_t full = c.slidingWindow ? c.firstWindowLayer : c.layers;
    bool both = full > 0 && full < c.layers;
    if (full > 0) {
      buildLayer(m, both ? "full_layer" : "layer", false);
      x = m.repeat(both ? "full_layer" : "layer", both ? "F" : "L", 0, full, x);
    }
    if (full < c.layers) {
      buildLayer(m, both ? "window_layer" : "layer", true);
      x = m.repeat(both ? "window_layer" : "layer", both ? "W" : "L", full,
                   c.layers - full, x);
    }
  }

  x = m.rmsNorm("norm", model + "norm", m.answered(x));
  m.endCausal(x, table);
}

} // namespace act
