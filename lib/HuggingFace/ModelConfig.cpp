// SPDX-License-Identifier: Apache-2.0
//
// config.json to a ModelConfig. What the importer does not build is refused
// here, with the field that asks for it; a field that is ignored would give
// another model without a word.
#include "act/HuggingFace/ModelConfig.h"
#include "lib/HuggingFace/Fields.h"
#include "lib/HuggingFace/Json.h"
#include "lib/HuggingFace/Parts.h"
#include <algorithm>
#include <cstdio>
#include <fstream>

using nlohmann::json;

namespace act::hf {
namespace {

const std::vector<std::string> dtypeNames = {"float32", "bfloat16", "float16"};
constexpr artifact::DType dtypes[] = {
    artifact::DType::F32, artifact::DType::BF16, artifact::DType::F16};

const std::vector<std::string> familyNames = {"llama", "mistral", "qwen2",
                                              "gpt2", "bert"};

// `torch_dtype` is the older name; files from the transition carry both.
artifact::DType readModelDtype(Fields &f) {
  artifact::DType older = readDtype(f, "torch_dtype", artifact::DType::F32);
  artifact::DType newer = readDtype(f, "dtype", older);
  auto name = [](artifact::DType type) {
    return dtypeNames[std::find(dtypes, std::end(dtypes), type) - dtypes];
  };
  if (f.find("torch_dtype") && older != newer)
    f.fail("torch_dtype",
           "contradicts dtype: " + name(older) + " and " + name(newer));
  return newer;
}

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

// The first architecture is the one that transformers would load.
Head readHead(Fields &f, Family family) {
  struct Row {
    const char *word;
    Family family;
    Head head;
  };
  constexpr Row rows[] = {
      {"LlamaForCausalLM", Family::Llama, Head::CausalLM},
      {"LlamaModel", Family::Llama, Head::HiddenStates},
      {"MistralForCausalLM", Family::Mistral, Head::CausalLM},
      {"MistralModel", Family::Mistral, Head::HiddenStates},
      {"Qwen2ForCausalLM", Family::Qwen2, Head::CausalLM},
      {"Qwen2Model", Family::Qwen2, Head::HiddenStates},
      {"GPT2LMHeadModel", Family::Gpt2, Head::CausalLM},
      {"GPT2Model", Family::Gpt2, Head::HiddenStates},
      {"BertForMaskedLM", Family::Bert, Head::MaskedLM},
      {"BertModel", Family::Bert, Head::HiddenStates}};
  std::vector<std::string> stated = f.strings("architectures");
  if (stated.empty())
    return family == Family::Bert ? Head::HiddenStates : Head::CausalLM;
  std::string known;
  for (const Row &row : rows) {
    if (row.family != family)
      continue;
    if (stated.front() == row.word)
      return row.head;
    known += (known.empty() ? "" : " or ") + std::string(row.word);
  }
  f.fail("architectures",
         "expected " + known + ", found " + show(stated.front()));
  return Head::CausalLM;
}

// qwen2's window starts at some layer, given as a number or as a list per
// layer.
void readQwenWindow(Fields &f, ModelConfig &c) {
  bool use = f.flag("use_sliding_window", false);
  int64_t window = f.dimension("sliding_window", 4096);
  c.firstWindowLayer = f.integer("max_window_layers", 0, 28);
  std::vector<std::string> types = f.strings("layer_types");
  if (!types.empty()) {
    if (int64_t(types.size()) != c.layers)
      return f.fail("layer_types",
                    "expected num_hidden_layers " + std::to_string(c.layers) +
                        " entries, found " + std::to_string(types.size()));
    int64_t full = 0;
    for (size_t i = 0; i < types.size(); ++i) {
      if (types[i] != "full_attention" && types[i] != "sliding_attention")
        return f.fail("layer_types", "expected full_attention or "
                                     "sliding_attention, found " +
                                         show(types[i]));
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

// llama, mistral and qwen2: rms norm, rope, gated mlp, grouped keys.
void readLlamaLike(Fields &f, const std::string &file, ModelConfig &c) {
  c.hidden = f.dimension("hidden_size");
  c.layers = f.dimension("num_hidden_layers");
  c.heads = f.dimension("num_attention_heads");
  c.intermediate = f.dimension("intermediate_size");
  // Absent means 8 in mistral's class and the number of heads in the others;
  // null means the number of heads in all classes.
  bool eight = c.family == Family::Mistral && !f.has("num_key_value_heads");
  c.kvHeads = f.dimension("num_key_value_heads", eight ? 8 : c.heads);
  if (c.heads % c.kvHeads != 0)
    f.expected("num_key_value_heads",
               "a divisor of num_attention_heads " + std::to_string(c.heads));
  if (!f.find("head_dim") && c.hidden % c.heads != 0)
    f.expected("num_attention_heads",
               "a divisor of hidden_size " + std::to_string(c.hidden));
  c.headDim = f.dimension("head_dim", std::max<int64_t>(c.hidden / c.heads, 1));
  if (c.headDim % 2 != 0)
    f.fail(f.find("head_dim") ? "head_dim" : "hidden_size",
           "expected an even head size for rope, found " +
               std::to_string(c.headDim));
  int64_t positions = c.family == Family::Llama     ? 2048
                      : c.family == Family::Mistral ? 131072
                                                    : 32768;
  c.maxPositions = f.dimension("max_position_embeddings", positions);
  c.activation = readActivation(f, "hidden_act", "silu", c.geluInSteps);
  c.normEps = f.positive("rms_norm_eps", 1e-6);
  c.tied = f.flag("tie_word_embeddings", false);
  c.attentionDropout = f.probability("attention_dropout", 0);
  readRope(f, file, c);
  if (c.family == Family::Llama) {
    c.qkvBias = c.attentionBias = f.flag("attention_bias", false);
    c.mlpBias = f.flag("mlp_bias", false);
  }
  if (c.family == Family::Qwen2) {
    c.qkvBias = true;
    readQwenWindow(f, c);
  }
  if (c.family == Family::Mistral) {
    bool null = f.has("sliding_window") && !f.find("sliding_window");
    int64_t window = f.dimension("sliding_window", 4096);
    if (!null)
      c.slidingWindow = window;
  }
}

void equalHeads(Fields &f, ModelConfig &c, const char *headsField,
                const char *hiddenField) {
  c.kvHeads = c.heads;
  if (c.hidden % c.heads != 0)
    f.expected(headsField, std::string("a divisor of ") + hiddenField + " " +
                               std::to_string(c.hidden));
  c.headDim = std::max<int64_t>(c.hidden / c.heads, 1);
  c.qkvBias = c.attentionBias = c.mlpBias = true;
}

void onlyFalse(Fields &f, const char *name) {
  if (f.flag(name, false))
    f.fail(name, "expected false, found true, which is not supported");
}

void readGpt2(Fields &f, ModelConfig &c) {
  c.hidden = f.dimension("n_embd");
  c.layers = f.dimension("n_layer");
  c.heads = f.dimension("n_head");
  equalHeads(f, c, "n_head", "n_embd");
  c.intermediate = f.dimension("n_inner", 4 * c.hidden);
  c.maxPositions = f.dimension("n_positions", 1024);
  if (f.dimension("n_ctx", c.maxPositions) != c.maxPositions)
    f.expected("n_ctx", "n_positions " + std::to_string(c.maxPositions));
  c.activation =
      readActivation(f, "activation_function", "gelu_new", c.geluInSteps);
  c.normEps = f.positive("layer_norm_epsilon", 1e-5);
  c.tied = f.flag("tie_word_embeddings", true);
  c.embeddingDropout = f.probability("embd_pdrop", 0.1);
  c.attentionDropout = f.probability("attn_pdrop", 0.1);
  c.residualDropout = f.probability("resid_pdrop", 0.1);
  c.scaleAttention = f.flag("scale_attn_weights", true);
  // The scale would differ between layers, but layers share one repeated body.
  onlyFalse(f, "scale_attn_by_inverse_layer_idx");
  onlyFalse(f, "reorder_and_upcast_attn");
  onlyFalse(f, "add_cross_attention");
}

void readBert(Fields &f, ModelConfig &c) {
  c.hidden = f.dimension("hidden_size");
  c.layers = f.dimension("num_hidden_layers");
  c.heads = f.dimension("num_attention_heads");
  equalHeads(f, c, "num_attention_heads", "hidden_size");
  c.intermediate = f.dimension("intermediate_size");
  c.maxPositions = f.dimension("max_position_embeddings", 512);
  c.tokenTypes = f.dimension("type_vocab_size", 2);
  c.activation = readActivation(f, "hidden_act", "gelu", c.geluInSteps);
  c.normEps = f.positive("layer_norm_eps", 1e-12);
  c.tied = f.flag("tie_word_embeddings", true);
  c.embeddingDropout = c.residualDropout =
      f.probability("hidden_dropout_prob", 0.1);
  c.attentionDropout = f.probability("attention_probs_dropout_prob", 0.1);
  f.word("position_embedding_type", {"absolute"}, 0);
  onlyFalse(f, "is_decoder");
  onlyFalse(f, "add_cross_attention");
}

void readPadToken(Fields &f, ModelConfig &c) {
  // Only llama-like models and bert pass it to their embedding.
  if (c.family == Family::Gpt2)
    return;
  bool stated = f.find("pad_token_id");
  if (!stated && (c.family != Family::Bert || f.has("pad_token_id")))
    return;
  // PyTorch counts a negative index from the end.
  int64_t token = f.integer("pad_token_id", -c.vocab, 0);
  if (token >= c.vocab)
    f.expected("pad_token_id",
               "a token below vocab_size " + std::to_string(c.vocab));
  c.padToken = token < 0 ? token + c.vocab : token;
}

// Every dimension is below 2^31; their products are checked in floating point,
// where they cannot wrap.
void checkSize(Fields &f, const ModelConfig &c) {
  double attention = 2.0 * c.hidden * c.headDim * (double(c.heads) + c.kvHeads);
  double weights =
      double(c.layers) * (attention + 3.0 * c.hidden * c.intermediate) +
      2.0 * c.vocab * c.hidden + double(c.maxPositions) * c.hidden;
  if (weights < 1e15)
    return;
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", weights);
  f.fail(c.family == Family::Gpt2 ? "n_embd" : "hidden_size",
         "expected a model of less than 1e15 weights, found about " +
             std::string(text) + " from the dimensions together");
}

} // namespace

artifact::DType readDtype(Fields &f, const char *name, artifact::DType absent) {
  size_t word = f.word(name, dtypeNames, dtypeNames.size());
  return word < dtypeNames.size() ? dtypes[word] : absent;
}

std::string_view name(Family family) {
  return familyNames[static_cast<size_t>(family)];
}

Result<ModelConfig> parse(std::string_view text, const std::string &file) {
  auto object = parseObject(text, file);
  if (!object)
    return object.error();
  Fields f(*object, file);
  ModelConfig c;
  if (!f.find("model_type"))
    f.expected("model_type", "the model's type");
  c.family = static_cast<Family>(f.word("model_type", familyNames, 0));
  // Without a valid type, the errors below would be about another type's
  // fields.
  if (f.error())
    return *f.error();
  if (f.find("per_layer_config"))
    f.fail("per_layer_config", "is not supported");

  c.vocab = f.dimension("vocab_size");
  if (c.family == Family::Gpt2)
    readGpt2(f, c);
  else if (c.family == Family::Bert)
    readBert(f, c);
  else
    readLlamaLike(f, file, c);
  c.head = readHead(f, c.family);
  c.dtype = readModelDtype(f);
  c.quantization = readQuantization(f, file);
  c.initializerRange = f.nonNegative("initializer_range", 0.02);
  readPadToken(f, c);
  checkSize(f, c);
  if (f.error())
    return *f.error();
  return c;
}

Result<ModelConfig> load(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return Error{"cannot be opened", path};
  // Reads at most one byte more than the limit, enough for parse() to refuse:
  // an endless device must not be read to its end.
  std::string text(maxJsonBytes + 1, '\0');
  in.read(text.data(), text.size());
  if (in.bad())
    return Error{"cannot be read", path};
  text.resize(in.gcount());
  return parse(text, path);
}

} // namespace act::hf
