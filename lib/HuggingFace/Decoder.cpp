// SPDX-License-Identifier: Apache-2.0
//
// What the configs of decoders share.
#include "lib/HuggingFace/ModelType.h"
#include <algorithm>

namespace act::hf {

Activation readActivation(Fields &f, const char *name, const char *absent,
                          bool &inSteps) {
  struct Row {
    const char *word;
    Activation activation;
  };
  constexpr Row rows[] = {{"silu", Activation::Silu},
                          {"swish", Activation::Silu},
                          {"gelu", Activation::Gelu},
                          {"gelu_new", Activation::GeluTanh},
                          {"gelu_pytorch_tanh", Activation::GeluTanh}};
  std::vector<std::string> words;
  for (const Row &row : rows)
    words.push_back(row.word);
  size_t def = std::find(words.begin(), words.end(), absent) - words.begin();
  size_t word = f.word(name, words, def);
  inSteps = words[word] == "gelu_new";
  return rows[word].activation;
}

void onlyFalse(Fields &f, const char *name) {
  if (f.flag(name, false))
    f.fail(name, "expected false, found true, which is not supported");
}

void readDecoder(Fields &f, const std::string &file, ModelConfig &c,
                 const DecoderDefaults &defaults) {
  c.hidden = f.dimension("hidden_size");
  c.layers = f.dimension("num_hidden_layers");
  c.heads = f.dimension("num_attention_heads");
  c.intermediate = f.dimension("intermediate_size");
  // null means the number of heads in all classes.
  bool absent = !f.has("num_key_value_heads") && defaults.kvHeads;
  c.kvHeads =
      f.dimension("num_key_value_heads", absent ? defaults.kvHeads : c.heads);
  if (c.heads % c.kvHeads != 0)
    f.expected("num_key_value_heads",
               "a divisor of num_attention_heads " + std::to_string(c.heads));
  if (!f.find("head_dim") && !defaults.headDim && c.hidden % c.heads != 0)
    f.expected("num_attention_heads",
               "a divisor of hidden_size " + std::to_string(c.hidden));
  c.headDim = f.dimension(
      "head_dim", defaults.headDim ? defaults.headDim
                                   : std::max<int64_t>(c.hidden / c.heads, 1));
  if (c.headDim % 2 != 0)
    f.fail(f.find("head_dim") ? "head_dim" : "hidden_size",
           "expected an even head size for rope, found " +
               std::to_string(c.headDim));
  c.maxPositions = f.dimension("max_position_embeddings", defaults.positions);
  c.activation = readActivation(f, defaults.activationField,
                                defaults.activation, c.geluInSteps);
  c.normEps = f.positive("rms_norm_eps", defaults.eps);
  c.tied = f.flag("tie_word_embeddings", defaults.tied);
  c.attentionDropout = f.probability("attention_dropout", 0);
  c.ropeTheta = defaults.theta;
  readRope(f, file, c);
}

/// full_attention or sliding_attention for each layer; empty if the config does
/// not list them.
static std::vector<std::string> readLayerTypes(Fields &f,
                                               const ModelConfig &c) {
  std::vector<std::string> types = f.strings("layer_types");
  if (!types.empty() && int64_t(types.size()) != c.layers) {
    f.fail("layer_types", "expected num_hidden_layers " +
                              std::to_string(c.layers) + " entries, found " +
                              std::to_string(types.size()));
    return {};
  }
  for (const std::string &type : types)
    if (type != "full_attention" && type != "sliding_attention") {
      f.fail("layer_types",
             "expected full_attention or sliding_attention, found " +
                 show(type));
      return {};
    }
  return types;
}

// qwen2's window starts at some layer, given as a number or as a list per
// layer.
void readQwenWindow(Fields &f, ModelConfig &c) {
  bool use = f.flag("use_sliding_window", false);
  int64_t window = f.dimension("sliding_window", 4096);
  c.firstWindowLayer = f.integer("max_window_layers", 0, 28);
  std::vector<std::string> types = readLayerTypes(f, c);
  if (!types.empty()) {
    int64_t full = 0;
    for (size_t i = 0; i < types.size(); ++i) {
      if (types[i] == "full_attention" && full++ != int64_t(i))
        return f.fail("layer_types",
                      "expected full_attention before sliding_attention only, "
                      "found it after in layer " +
                          std::to_string(i));
    }
    if (full < c.layers && !use)
      return f.fail("layer_types",
                    "sliding_attention contradicts use_sliding_window false");
    c.firstWindowLayer = full;
  }
  if (use && c.firstWindowLayer < c.layers &&
      (f.find("sliding_window") || !f.has("sliding_window")))
    c.slidingWindow = window;
  else
    c.firstWindowLayer = 0;
}

// The rule is the list: the last of every so many layers is full_attention.
void readAlternatingWindow(Fields &f, ModelConfig &c, int64_t window,
                           int64_t fullEvery) {
  c.slidingWindow = f.dimension("sliding_window", window);
  c.fullEvery = fullEvery;
  constexpr int64_t most = 64; // a function has as many layers
  std::vector<std::string> types = readLayerTypes(f, c);
  if (types.empty()) {
    if (c.fullEvery > most && c.fullEvery <= c.layers)
      f.fail("sliding_window_pattern", "expected at most " +
                                           std::to_string(most) + ", found " +
                                           std::to_string(c.fullEvery));
    return;
  }
  auto full = std::find(types.begin(), types.end(), "full_attention");
  c.fullEvery = full == types.end() ? 0 : full - types.begin() + 1;
  if (c.fullEvery > most)
    return f.fail("layer_types",
                  "expected full_attention in one of the first " +
                      std::to_string(most) + " layers");
  for (int64_t i = 0; i < c.layers; ++i)
    if (types[i] != (c.slides(i) ? "sliding_attention" : "full_attention"))
      return f.fail("layer_types",
                    "expected full_attention in the last of every " +
                        std::to_string(c.fullEvery) +
                        " layers and sliding_attention in others, found " +
                        show(types[i]) + " in layer " + std::to_string(i));
  if (c.fullEvery == 1)
    c.slidingWindow.reset();
}

void readEqualHeads(Fields &f, ModelConfig &c, const char *headsField,
                    const char *hiddenField) {
  c.kvHeads = c.heads;
  if (c.hidden % c.heads != 0)
    f.expected(headsField, std::string("a divisor of ") + hiddenField + " " +
                               std::to_string(c.hidden));
  c.headDim = std::max<int64_t>(c.hidden / c.heads, 1);
  c.qkvBias = c.attentionBias = c.mlpBias = true;
}

} // namespace act::hf
