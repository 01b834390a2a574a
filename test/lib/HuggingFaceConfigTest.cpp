// SPDX-License-Identifier: Apache-2.0
#include "act/HuggingFace/ModelConfig.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace act::hf;
using act::artifact::DType;
using nlohmann::json;

namespace {

const std::string models = ACT_SOURCE_DIR "/examples/models/";

json llama() {
  return {{"model_type", "llama"},    {"vocab_size", 97},
          {"hidden_size", 48},        {"num_hidden_layers", 2},
          {"num_attention_heads", 6}, {"intermediate_size", 80}};
}
json gpt2() {
  return {{"model_type", "gpt2"},
          {"vocab_size", 97},
          {"n_embd", 48},
          {"n_layer", 2},
          {"n_head", 6}};
}
json bert() {
  json c = llama();
  c["model_type"] = "bert";
  return c;
}
json of(const char *type) {
  json c = llama();
  c["model_type"] = type;
  return c;
}
json with(json base, const json &changes) {
  base.update(changes);
  return base;
}
json without(json base, const char *field) {
  base.erase(field);
  return base;
}

// What transformers writes for a model in nf4.
json bnb() {
  return {{"quant_method", "bitsandbytes"},
          {"load_in_4bit", true},
          {"load_in_8bit", false},
          {"bnb_4bit_compute_dtype", "bfloat16"},
          {"bnb_4bit_quant_storage", "uint8"},
          {"bnb_4bit_quant_type", "nf4"},
          {"bnb_4bit_use_double_quant", true},
          {"llm_int8_skip_modules", nullptr},
          {"llm_int8_threshold", 6.0}};
}

ModelConfig good(const json &j) {
  auto c = parse(j.dump(), "c.json");
  EXPECT_TRUE(c) << c.error().str();
  return c ? *c : ModelConfig();
}
std::string bad(const std::string &text) {
  auto c = parse(text, "c.json");
  return c ? "accepted" : c.error().str();
}
std::string bad(const json &j) { return bad(j.dump()); }

} // namespace

// Counted by transformers itself on its meta device.
TEST(HuggingFaceConfig, ParameterCountsOfPublishedModels) {
  const std::pair<const char *, int64_t> expected[] = {
      {"gpt2", 124439808},
      {"llama-3.1-405b", 405853388800},
      {"llama-3.1-70b", 70553706496},
      {"llama-3.1-8b", 8030261248},
      {"llama-3.2-1b", 1235814400},
      {"llama-3.2-3b", 3212749824},
      {"minilm-l6", 22565376},
      {"mistral-7b-v0.1", 7241732096},
      {"mistral-7b-v0.3", 7248023552},
      {"qwen2.5-7b", 7615616512}};
  for (auto [file, count] : expected) {
    auto c = load(models + file + ".json");
    ASSERT_TRUE(c) << c.error().str();
    EXPECT_EQ(parameterCount(*c), count) << file;
  }
}

TEST(HuggingFaceConfig, ReadsEveryFieldOfLlama32) {
  auto c = load(models + "llama-3.2-3b.json");
  ASSERT_TRUE(c) << c.error().str();
  EXPECT_EQ(name(c->family), "llama");
  EXPECT_EQ(c->head, Head::CausalLM);
  EXPECT_EQ(c->dtype, DType::BF16);
  EXPECT_EQ(c->hidden, 3072);
  EXPECT_EQ(c->layers, 28);
  EXPECT_EQ(c->heads, 24);
  EXPECT_EQ(c->kvHeads, 8);
  EXPECT_EQ(c->headDim, 128);
  EXPECT_EQ(c->intermediate, 8192);
  EXPECT_EQ(c->vocab, 128256);
  EXPECT_EQ(c->maxPositions, 131072);
  EXPECT_TRUE(c->tied);
  EXPECT_FALSE(c->qkvBias || c->attentionBias || c->mlpBias);
  EXPECT_EQ(c->normEps, 1e-5);
  EXPECT_EQ(c->ropeTheta, 500000);
  EXPECT_EQ(c->ropeScaling.kind, RopeScaling::Kind::Llama3);
  EXPECT_EQ(c->ropeScaling.factor, 32);
  EXPECT_EQ(c->ropeScaling.lowFreqFactor, 1);
  EXPECT_EQ(c->ropeScaling.highFreqFactor, 4);
  EXPECT_EQ(c->ropeScaling.originalMaxPositions, 8192);
  EXPECT_FALSE(c->slidingWindow);
  EXPECT_FALSE(c->padToken);
}

TEST(HuggingFaceConfig, DefaultsAreThoseOfEachType) {
  ModelConfig l = good(llama());
  EXPECT_EQ(l.kvHeads, 6);
  EXPECT_EQ(l.headDim, 8);
  EXPECT_EQ(l.normEps, 1e-6);
  EXPECT_EQ(l.ropeTheta, 10000);
  EXPECT_EQ(l.maxPositions, 2048);
  EXPECT_EQ(l.dtype, DType::F32);
  EXPECT_EQ(l.initializerRange, 0.02);
  EXPECT_FALSE(l.tied);
  EXPECT_EQ(l.activation, Activation::Silu);

  ModelConfig m = good(
      with(of("mistral"), {{"num_attention_heads", 8}, {"hidden_size", 64}}));
  EXPECT_EQ(m.kvHeads, 8);
  EXPECT_EQ(m.slidingWindow, 4096);
  EXPECT_EQ(m.maxPositions, 131072);

  ModelConfig q = good(of("qwen2"));
  EXPECT_TRUE(q.qkvBias);
  EXPECT_FALSE(q.attentionBias);
  EXPECT_FALSE(q.slidingWindow);
  EXPECT_EQ(q.maxPositions, 32768);

  ModelConfig g = good(gpt2());
  EXPECT_EQ(g.intermediate, 192);
  EXPECT_EQ(g.maxPositions, 1024);
  EXPECT_TRUE(g.tied);
  EXPECT_FALSE(g.rope);
  EXPECT_FALSE(g.attentionScale);
  EXPECT_EQ(g.activation, Activation::GeluTanh);
  EXPECT_EQ(g.normEps, 1e-5);
  EXPECT_EQ(g.embeddingDropout, 0.1);
  EXPECT_EQ(g.attentionDropout, 0.1);
  EXPECT_EQ(g.residualDropout, 0.1);
  EXPECT_FALSE(g.padToken);

  ModelConfig b = good(bert());
  EXPECT_EQ(b.tokenTypes, 2);
  EXPECT_EQ(b.normEps, 1e-12);
  EXPECT_EQ(b.maxPositions, 512);
  EXPECT_EQ(b.padToken, 0);
  EXPECT_EQ(b.head, Head::HiddenStates);
  EXPECT_EQ(b.activation, Activation::Gelu);
}

TEST(HuggingFaceConfig, Variants) {
  EXPECT_EQ(good(with(of("mistral"), {{"num_key_value_heads", 3},
                                      {"sliding_window", nullptr}}))
                .slidingWindow,
            std::nullopt);
  EXPECT_EQ(good(with(of("mistral"),
                      {{"num_key_value_heads", 3}, {"sliding_window", 5}}))
                .slidingWindow,
            5);
  EXPECT_EQ(
      good(with(of("mistral"), {{"num_key_value_heads", nullptr}})).kvHeads, 6);
  EXPECT_EQ(good(with(llama(), {{"head_dim", 10}})).headDim, 10);
  EXPECT_EQ(good(with(llama(), {{"hidden_size", 50}, {"head_dim", 10}})).hidden,
            50);
  EXPECT_EQ(good(with(llama(), {{"pad_token_id", -1}})).padToken, 96);
  EXPECT_EQ(good(with(bert(), {{"pad_token_id", nullptr}})).padToken,
            std::nullopt);
  EXPECT_EQ(good(with(gpt2(), {{"n_inner", nullptr}})).intermediate, 192);
  EXPECT_EQ(good(with(gpt2(), {{"n_inner", 100}})).intermediate, 100);
  EXPECT_EQ(good(with(gpt2(), {{"scale_attn_weights", false}})).attentionScale,
            1);
  EXPECT_EQ(good(with(bert(), {{"architectures", {"BertForMaskedLM"}}})).head,
            Head::MaskedLM);
  EXPECT_EQ(good(with(gpt2(), {{"architectures", {"GPT2Model"}}})).head,
            Head::HiddenStates);
  EXPECT_EQ(good(with(llama(), {{"dtype", "float16"}})).dtype, DType::F16);
  EXPECT_EQ(
      good(with(llama(), {{"dtype", "float16"}, {"torch_dtype", "float16"}}))
          .dtype,
      DType::F16);
  EXPECT_EQ(
      good(with(llama(), {{"hidden_act", "gelu_pytorch_tanh"}})).activation,
      Activation::GeluTanh);
  ModelConfig c = good(with(llama(), {{"attention_bias", true}}));
  EXPECT_TRUE(c.qkvBias && c.attentionBias && !c.mlpBias);
  EXPECT_TRUE(good(with(llama(), {{"mlp_bias", true}})).mlpBias);
}

TEST(HuggingFaceConfig, RopeInBothSpellings) {
  ModelConfig c = good(
      with(llama(),
           {{"rope_parameters",
             {{"rope_type", "linear"}, {"factor", 4}, {"rope_theta", 3e4}}}}));
  EXPECT_EQ(c.ropeTheta, 3e4);
  EXPECT_EQ(c.ropeScaling.kind, RopeScaling::Kind::Linear);
  EXPECT_EQ(c.ropeScaling.factor, 4);
  c = good(
      with(llama(), {{"rope_scaling", {{"type", "linear"}, {"factor", 2.5}}},
                     {"rope_theta", 2e4}}));
  EXPECT_EQ(c.ropeTheta, 2e4);
  EXPECT_EQ(c.ropeScaling.factor, 2.5);
  c = good(with(llama(), {{"rope_scaling", nullptr}}));
  EXPECT_EQ(c.ropeScaling.kind, RopeScaling::Kind::None);
  c = good(with(llama(), {{"rope_scaling", {{"rope_type", "default"}}}}));
  EXPECT_EQ(c.ropeScaling.kind, RopeScaling::Kind::None);
  c = good(with(llama(), {{"rope_scaling",
                           {{"rope_type", "llama3"},
                            {"factor", 8},
                            {"low_freq_factor", 1},
                            {"high_freq_factor", 4}}}}));
  EXPECT_EQ(c.ropeScaling.originalMaxPositions, 2048);
  // Both names, and theta in three places: what is equal is no contradiction,
  // however the numbers are written, and what one leaves out the other says.
  const json scaled = {
      {"rope_type", "linear"}, {"factor", 4}, {"rope_theta", 3e4}};
  c = good(
      with(llama(), {{"rope_theta", 30000},
                     {"rope_parameters", scaled},
                     {"rope_scaling", {{"type", "linear"}, {"factor", 4.0}}}}));
  EXPECT_EQ(c.ropeTheta, 3e4);
  EXPECT_EQ(c.ropeScaling.factor, 4);
  c = good(
      with(llama(), {{"rope_scaling", scaled}, {"rope_parameters", scaled}}));
  EXPECT_EQ(c.ropeTheta, 3e4);
  EXPECT_EQ(c.ropeScaling.kind, RopeScaling::Kind::Linear);
  c = good(with(llama(), {{"rope_scaling", {{"type", "linear"}, {"factor", 2}}},
                          {"rope_parameters", {{"rope_theta", 2e4}}}}));
  EXPECT_EQ(c.ropeTheta, 2e4);
  EXPECT_EQ(c.ropeScaling.factor, 2);
}

TEST(HuggingFaceConfig, QuantizedByBitsandbytes) {
  EXPECT_FALSE(
      good(with(llama(), {{"quantization_config", nullptr}})).quantization);
  auto q = good(with(llama(), {{"quantization_config", bnb()}})).quantization;
  ASSERT_TRUE(q);
  EXPECT_TRUE(q->nested);
  EXPECT_EQ(q->compute, DType::BF16);
  EXPECT_FALSE(q->skipped);
  // As old files have it, and without double quantisation.
  json old =
      without(without(bnb(), "quant_method"), "bnb_4bit_use_double_quant");
  old = without(with(old, {{"llm_int8_skip_modules", {"lm_head", "mlp"}}}),
                "bnb_4bit_compute_dtype");
  q = good(with(llama(), {{"quantization_config", old}})).quantization;
  ASSERT_TRUE(q);
  EXPECT_FALSE(q->nested);
  EXPECT_FALSE(q->compute);
  EXPECT_EQ(q->skipped, (std::vector<std::string>{"lm_head", "mlp"}));
  EXPECT_FALSE(good(with(llama(), {{"quantization_config",
                                    with(bnb(), {{"load_in_4bit", false}})}}))
                   .quantization);
}

// Python's json writes them, and reads them back.
TEST(HuggingFaceConfig, NumbersThatJsonLacks) {
  auto text = [](const std::string &field) {
    std::string all = llama().dump();
    return all.substr(0, all.size() - 1) + ",\n " + field + "}";
  };
  for (const char *unused :
       {"\"x\": NaN", "\"x\": [Infinity, -Infinity,NaN]",
        "\"x\": {\"NaN\": -Infinity, \"y\": \"NaN, \\\"Infinity\"}",
        "\"rope_scaling\": {\"rope_type\": \"default\", \"factor\": NaN}"})
    EXPECT_TRUE(parse(text(unused), "c.json")) << unused;
  EXPECT_EQ(bad(text("\"rms_norm_eps\": NaN")),
            "c.json: rms_norm_eps: expected a number above 0, found NaN");
  EXPECT_EQ(bad(text("\"x\": 1e3, \"initializer_range\": Infinity")),
            "c.json: initializer_range: expected a number of at least 0, "
            "found Infinity");
  EXPECT_EQ(bad(text("\"attention_dropout\": -Infinity")),
            "c.json: attention_dropout: expected a probability of at least 0 "
            "and below 1, found -Infinity");
  EXPECT_EQ(bad(text("\"head_dim\": NaN")),
            "c.json: head_dim: expected an integer from 1 to 2147483647, "
            "found NaN");
  // Neither these words nor what stands behind one is at another place.
  EXPECT_EQ(bad(text("\"x\": NaNs")).substr(0, 11), "c.json:2:7:");
  EXPECT_EQ(bad(text("\"x\": +Infinity")).substr(0, 11), "c.json:2:7:");
  EXPECT_EQ(bad(text("\"x\": -Infinity \"y\"")).substr(0, 12), "c.json:2:19:");
  EXPECT_EQ(bad(text("NaN: 1")).substr(0, 11), "c.json:2:2:");
}

TEST(HuggingFaceConfig, QwenWindows) {
  json q = with(of("qwen2"), {{"num_hidden_layers", 4},
                              {"use_sliding_window", true},
                              {"sliding_window", 7}});
  ModelConfig c = good(with(q, {{"max_window_layers", 3}}));
  EXPECT_EQ(c.slidingWindow, 7);
  EXPECT_EQ(c.firstWindowLayer, 3);
  EXPECT_FALSE(good(with(q, {{"max_window_layers", 4}})).slidingWindow);
  json types = {"full_attention", "sliding_attention", "sliding_attention",
                "sliding_attention"};
  EXPECT_EQ(good(with(q, {{"layer_types", types}})).firstWindowLayer, 1);
  EXPECT_EQ(
      bad(with(q, {{"layer_types", types}, {"use_sliding_window", false}})),
      "c.json: layer_types: sliding_attention contradicts "
      "use_sliding_window false");
  std::swap(types[0], types[3]);
  EXPECT_EQ(bad(with(q, {{"layer_types", types}})),
            "c.json: layer_types: expected full_attention before "
            "sliding_attention only, found it after in layer 3");
  types.erase(0);
  EXPECT_EQ(bad(with(q, {{"layer_types", types}})),
            "c.json: layer_types: expected num_hidden_layers 4 entries, found "
            "3");
}

// Of released models: the parameters that their publishers count.
TEST(HuggingFaceConfig, TypesLikeLlama) {
  json shape = {{"num_hidden_layers", 26},
                {"num_attention_heads", 8},
                {"num_key_value_heads", 4}};
  ModelConfig q = good(with(of("qwen3"), {{"vocab_size", 151936},
                                          {"hidden_size", 1024},
                                          {"intermediate_size", 3072},
                                          {"num_hidden_layers", 28},
                                          {"num_attention_heads", 16},
                                          {"num_key_value_heads", 8},
                                          {"tie_word_embeddings", true}}));
  EXPECT_TRUE(q.qkNorm && !q.qkvBias && !q.slidingWindow);
  EXPECT_EQ(q.headDim, 128);
  EXPECT_EQ(parameterCount(q), 596049920);

  ModelConfig g =
      good(with(with(of("gemma2"), shape), {{"vocab_size", 256000},
                                            {"hidden_size", 2304},
                                            {"intermediate_size", 9216}}));
  EXPECT_TRUE(g.tied && g.normPlusOne && g.outputNorms && !g.qkNorm);
  EXPECT_EQ(g.embeddingScale, 48);
  EXPECT_EQ(g.attentionScale, 1 / 16.0);
  EXPECT_EQ(g.attentionSoftcap, 50);
  EXPECT_EQ(g.logitsSoftcap, 30);
  EXPECT_EQ(g.activation, Activation::GeluTanh);
  EXPECT_EQ(g.padToken, 0);
  EXPECT_TRUE(g.slides(0) && !g.slides(1) && g.slides(24) && !g.slides(25));
  EXPECT_EQ(parameterCount(g), 2614341888);

  json three =
      with(with(of("gemma3_text"), shape), {{"vocab_size", 262144},
                                            {"hidden_size", 1152},
                                            {"intermediate_size", 6912},
                                            {"num_attention_heads", 4},
                                            {"num_key_value_heads", 1},
                                            {"sliding_window", 512}});
  ModelConfig t = good(three);
  EXPECT_TRUE(t.qkNorm && t.normPlusOne && t.outputNorms);
  EXPECT_EQ(t.fullEvery, 6);
  EXPECT_EQ(t.ropeTheta, 1e6);
  EXPECT_EQ(t.windowRopeTheta, 10000);
  EXPECT_FALSE(t.attentionSoftcap || t.logitsSoftcap);
  EXPECT_EQ(parameterCount(t), 999885952);
  t = good(with(
      three,
      {{"rope_parameters",
        {{"sliding_attention", {{"rope_theta", 5e3}}},
         {"full_attention",
          {{"rope_type", "linear"}, {"factor", 8}, {"rope_theta", 2e6}}}}}}));
  EXPECT_EQ(t.ropeTheta, 2e6);
  EXPECT_EQ(t.windowRopeTheta, 5e3);
  EXPECT_EQ(t.ropeScaling.factor, 8);

  ModelConfig p = good(with(of("phi3"), {{"vocab_size", 32064},
                                         {"hidden_size", 3072},
                                         {"intermediate_size", 8192},
                                         {"num_hidden_layers", 32},
                                         {"num_attention_heads", 32}}));
  EXPECT_TRUE(p.fusedProjections && !p.tied);
  EXPECT_EQ(p.padToken, 32000);
  EXPECT_EQ(p.normEps, 1e-5);
  EXPECT_EQ(parameterCount(p), 3821079552);
}

TEST(HuggingFaceConfig, RopeFrequencies) {
  ModelConfig c =
      good(with(llama(), {{"max_position_embeddings", 64},
                          {"rope_scaling",
                           {{"rope_type", "yarn"},
                            {"factor", 4.0},
                            {"original_max_position_embeddings", 16}}}}));
  auto at = [&](int64_t sequence) {
    return ropeFrequencies(c.ropeTheta, c.ropeScaling, c.headDim,
                           c.maxPositions, sequence);
  };
  RopeFrequencies yarn = at(8);
  ASSERT_EQ(yarn.turns.size(), 4u);
  EXPECT_DOUBLE_EQ(yarn.scale, 0.1 * std::log(4.0) + 1);
  // Pairs from the one that turns once in 16 positions on are slowed down.
  EXPECT_DOUBLE_EQ(yarn.turns[0], 1);
  EXPECT_DOUBLE_EQ(yarn.turns[3], std::pow(10000, -0.75) / 4);
  c = good(with(llama(), {{"max_position_embeddings", 64},
                          {"rope_scaling",
                           {{"rope_type", "longrope"},
                            {"short_factor", {1, 1, 2, 2}},
                            {"long_factor", {4, 4, 8, 8}},
                            {"original_max_position_embeddings", 16}}}}));
  EXPECT_DOUBLE_EQ(at(16).turns[2], 0.01 / 2);
  EXPECT_DOUBLE_EQ(at(17).turns[2], 0.01 / 8);
  EXPECT_DOUBLE_EQ(at(17).scale, std::sqrt(1.5));
  c = good(
      with(llama(), {{"max_position_embeddings", 64},
                     {"rope_scaling", {{"type", "dynamic"}, {"factor", 2}}}}));
  EXPECT_TRUE(at(64).turns.empty());
  EXPECT_DOUBLE_EQ(at(64).theta, 10000);
  EXPECT_DOUBLE_EQ(at(128).theta, 10000 * std::pow(3, 8.0 / 6));
}

TEST(HuggingFaceConfig, LayersThatAlternate) {
  json g = with(of("gemma2"), {{"num_hidden_layers", 4}, {"head_dim", 8}});
  auto types = [](std::initializer_list<int> full) {
    json list = json::array();
    for (int is : full)
      list.push_back(is ? "full_attention" : "sliding_attention");
    return json{{"layer_types", list}};
  };
  EXPECT_EQ(good(with(g, types({0, 0, 1, 0}))).fullEvery, 3);
  EXPECT_EQ(good(with(g, types({0, 0, 0, 0}))).fullEvery, 0);
  EXPECT_FALSE(good(with(g, types({1, 1, 1, 1}))).slidingWindow);
  EXPECT_EQ(bad(with(g, types({0, 1, 1, 0}))),
            "c.json: layer_types: expected full_attention in the last of every "
            "2 layers and sliding_attention in others, found "
            "\"full_attention\" in layer 2");
  EXPECT_EQ(bad(with(g, types({0, 1}))),
            "c.json: layer_types: expected num_hidden_layers 4 entries, found "
            "2");
  EXPECT_EQ(bad(with(with(of("gemma3_text"), {{"num_hidden_layers", 99}}),
                     {{"sliding_window_pattern", 70}})),
            "c.json: sliding_window_pattern: expected at most 64, found 70");
  EXPECT_EQ(bad(with(g, {{"rope_parameters",
                          {{"full_attention", {{"rope_theta", 1e4}}}}}})),
            "c.json: rope_parameters.full_attention: a rope of its own for "
            "each kind of layer is not supported");
}

TEST(HuggingFaceConfig, ErrorsNameFileAndField) {
  struct Case {
    json config;
    std::string message;
  };
  const json deep3 = {{"rope_type", "llama3"},
                      {"factor", 8},
                      {"low_freq_factor", 4},
                      {"high_freq_factor", 1}};
  const json valid3 =
      with(deep3, {{"low_freq_factor", 1}, {"high_freq_factor", 4}});
  const std::string size = "expected an integer from 1 to 2147483647, ";
  const Case cases[] = {
      {without(llama(), "model_type"),
       "model_type: expected the model's type, the field is missing"},
      {of("t5"), "model_type: expected one of \"llama\", \"mistral\", "
                 "\"qwen2\", \"qwen3\", \"gemma2\", \"gemma3_text\", \"phi3\", "
                 "\"gpt2\", \"bert\", found \"t5\""},
      {without(llama(), "hidden_size"),
       "hidden_size: " + size + "the field is missing"},
      {without(gpt2(), "n_layer"), "n_layer: " + size + "the field is missing"},
      {with(llama(), {{"vocab_size", "97"}}),
       "vocab_size: " + size + "found \"97\""},
      {with(llama(), {{"vocab_size", nullptr}}),
       "vocab_size: " + size + "found null"},
      {with(llama(), {{"vocab_size", json::array()}}),
       "vocab_size: " + size + "found an array"},
      {with(llama(), {{"num_hidden_layers", 2.5}}),
       "num_hidden_layers: " + size + "found 2.5"},
      {with(llama(), {{"num_hidden_layers", true}}),
       "num_hidden_layers: " + size + "found true"},
      {with(llama(), {{"num_attention_heads", 0}}),
       "num_attention_heads: " + size + "found 0"},
      {with(llama(), {{"num_key_value_heads", -2}}),
       "num_key_value_heads: " + size + "found -2"},
      {with(llama(), {{"hidden_size", uint64_t(1) << 63}}),
       "hidden_size: " + size + "found 9223372036854775808"},
      {with(llama(), {{"hidden_size", 2147483646},
                      {"intermediate_size", 2147483647},
                      {"head_dim", 8}}),
       "hidden_size: expected a model of less than 1e15 weights, found about "},
      {with(llama(), {{"num_attention_heads", 5}}),
       "num_attention_heads: expected a divisor of hidden_size 48, found 5"},
      {with(gpt2(), {{"n_head", 5}}),
       "n_head: expected a divisor of n_embd 48, found 5"},
      {with(bert(), {{"num_attention_heads", 5}}),
       "num_attention_heads: expected a divisor of hidden_size 48, found 5"},
      {with(llama(), {{"num_key_value_heads", 4}}),
       "num_key_value_heads: expected a divisor of num_attention_heads 6, "
       "found 4"},
      {with(of("mistral"), {{"hidden_size", 48}}),
       "num_key_value_heads: expected a divisor of num_attention_heads 6, "
       "the field is missing"},
      {with(llama(), {{"head_dim", 7}}),
       "head_dim: expected an even head size for rope, found 7"},
      {with(llama(), {{"hidden_size", 42}}),
       "hidden_size: expected an even head size for rope, found 7"},
      {with(llama(), {{"hidden_act", "relu"}}),
       "hidden_act: expected one of \"silu\", \"swish\", \"gelu\", "
       "\"gelu_new\", \"gelu_pytorch_tanh\", found \"relu\""},
      {with(llama(), {{"rms_norm_eps", 0}}),
       "rms_norm_eps: expected a number above 0, found 0"},
      {with(llama(), {{"attention_dropout", 1}}),
       "attention_dropout: expected a probability of at least 0 and below 1, "
       "found 1"},
      {with(llama(), {{"tie_word_embeddings", 1}}),
       "tie_word_embeddings: expected true or false, found 1"},
      {with(llama(), {{"torch_dtype", "int8"}}),
       "torch_dtype: expected one of \"float32\", \"bfloat16\", \"float16\", "
       "found \"int8\""},
      {with(llama(), {{"torch_dtype", "float16"}, {"dtype", "bfloat16"}}),
       "torch_dtype: contradicts dtype: float16 and bfloat16"},
      {with(llama(), {{"rope_scaling", deep3}}),
       "rope_scaling.low_freq_factor: expected less than high_freq_factor 1, "
       "found 4"},
      {with(llama(), {{"rope_scaling", without(deep3, "high_freq_factor")}}),
       "rope_scaling.high_freq_factor: expected a number above 0, the field is "
       "missing"},
      {with(llama(), {{"rope_scaling", without(deep3, "factor")}}),
       "rope_scaling.factor: expected a number above 0, the field is missing"},
      {with(llama(), {{"rope_scaling", {{"type", "su"}}}}),
       "rope_scaling.type: expected one of \"default\", \"linear\", "
       "\"llama3\", \"dynamic\", \"yarn\", \"longrope\", found \"su\""},
      {with(llama(), {{"rope_scaling", {{"type", "yarn"}}}}),
       "rope_scaling.factor: expected a number above 0, the field is missing"},
      {with(llama(), {{"rope_scaling",
                       {{"type", "longrope"},
                        {"short_factor", {1, 2, 3, 4}},
                        {"long_factor", {1, 2, 3}}}}}),
       "rope_scaling.long_factor: expected 4 numbers above 0, one for each "
       "pair of a head"},
      {with(llama(), {{"rope_scaling", 3}}),
       "rope_scaling: expected an object or null, found 3"},
      {with(llama(), {{"rope_scaling", valid3},
                      {"rope_parameters", {{"rope_type", "default"}}}}),
       "rope_scaling: contradicts rope_parameters: rope_type llama3 and "
       "default"},
      {with(llama(), {{"rope_scaling", valid3},
                      {"rope_parameters", with(valid3, {{"factor", 4}})}}),
       "rope_scaling: contradicts rope_parameters: factor 8.0 and 4.0"},
      {with(llama(), {{"rope_scaling", {{"rope_theta", 5.0}}},
                      {"rope_parameters", {{"rope_theta", 6.0}}}}),
       "rope_parameters.rope_theta: contradicts rope_scaling.rope_theta 5.0: "
       "found 6.0"},
      {with(llama(),
            {{"rope_theta", 5.0}, {"rope_parameters", {{"rope_theta", 6.0}}}}),
       "rope_parameters.rope_theta: contradicts rope_theta 5.0: found 6.0"},
      {with(gpt2(), {{"n_ctx", 512}}),
       "n_ctx: expected n_positions 1024, found 512"},
      {with(gpt2(), {{"scale_attn_by_inverse_layer_idx", true}}),
       "scale_attn_by_inverse_layer_idx: expected false, found true, which is "
       "not supported"},
      {with(gpt2(), {{"reorder_and_upcast_attn", true}}),
       "reorder_and_upcast_attn: expected false, found true, which is not "
       "supported"},
      {with(bert(), {{"position_embedding_type", "relative_key"}}),
       "position_embedding_type: expected \"absolute\", found "
       "\"relative_key\""},
      {with(bert(), {{"pad_token_id", 97}}),
       "pad_token_id: expected a token below vocab_size 97, found 97"},
      {with(bert(), {{"is_decoder", true}}),
       "is_decoder: expected false, found true, which is not supported"},
      {with(llama(), {{"architectures", {"LlamaForTokenClassification"}}}),
       "architectures: expected LlamaForCausalLM or LlamaModel, found "
       "\"LlamaForTokenClassification\""},
      {with(llama(), {{"architectures", {1}}}),
       "architectures: expected an array of strings, found an array"},
      {with(llama(), {{"quantization_config", json::object()}}),
       "quantization_config.quant_method: expected the method's name, the "
       "field is missing"},
      {with(llama(), {{"quantization_config", 4}}),
       "quantization_config: expected an object or null, found 4"},
      {with(llama(), {{"quantization_config", {{"quant_method", "gptq"}}}}),
       "quantization_config.quant_method: \"gptq\" is not supported, only "
       "load_in_4bit of bitsandbytes with nf4 is; without quantization_config "
       "the model is imported as it was before it was quantised, and "
       "--quantize nf4 or nf4-nested quantises it"},
      {with(llama(),
            {{"quantization_config",
              with(bnb(), {{"load_in_4bit", false}, {"load_in_8bit", true}})}}),
       "quantization_config.load_in_8bit: a weight in 8 bits is not supported"},
      {with(llama(), {{"quantization_config",
                       with(bnb(), {{"bnb_4bit_quant_type", "fp4"}})}}),
       "quantization_config.bnb_4bit_quant_type: \"fp4\" is not supported"},
      {with(llama(),
            {{"quantization_config", without(bnb(), "bnb_4bit_quant_type")}}),
       "quantization_config.bnb_4bit_quant_type: the field is missing, and its "
       "default fp4 is not supported"},
      {with(llama(), {{"quantization_config",
                       with(bnb(), {{"bnb_4bit_compute_dtype", "int8"}})}}),
       "quantization_config.bnb_4bit_compute_dtype: expected one of"},
      {with(llama(), {{"quantization_config",
                       with(bnb(), {{"llm_int8_skip_modules", "lm_head"}})}}),
       "quantization_config.llm_int8_skip_modules: expected an array of "
       "strings, found \"lm_head\""},
  };
  for (const Case &c : cases)
    EXPECT_EQ(bad(c.config).substr(0, 8 + c.message.size()),
              "c.json: " + c.message);
}

TEST(HuggingFaceConfig, SyntaxErrorsHaveAPlace) {
  EXPECT_EQ(bad(std::string("{\n  \"a\": 1,\n  \"b\" 2\n}")).substr(0, 11),
            "c.json:3:7:");
  EXPECT_EQ(bad(std::string("")).substr(0, 11), "c.json:1:1:");
  EXPECT_EQ(bad(std::string("{\"a\": 1e999}")).substr(0, 10), "c.json:1:1");
  EXPECT_NE(bad(std::string("{\"a\": \"\xff\"}")).find("c.json:1:"),
            std::string::npos);
  EXPECT_EQ(bad(std::string("[1]")),
            "c.json: expected a JSON object, found array");
  EXPECT_EQ(bad(std::string("{\"a\": 1, \"a\": 2}")),
            "c.json: key \"a\" is given twice");
  EXPECT_EQ(bad(llama().dump() + "x").substr(0, 9), "c.json:1:");
}

TEST(HuggingFaceConfig, HostileFilesEndInAMessage) {
  std::string nested(3000000, '[');
  EXPECT_EQ(bad(nested),
            "c.json: expected at most 64 levels of nesting, found more");
  EXPECT_EQ(bad(std::string(5 << 20, ' ')),
            "c.json: expected at most 4194304 bytes of JSON, found more");
  EXPECT_EQ(load("/dev/zero").error().str(),
            "/dev/zero: expected at most 4194304 bytes of JSON, found more");
  EXPECT_FALSE(load("/no/such/file.json"));
  EXPECT_FALSE(load("/"));
  // Every prefix of a real file, and every single byte changed.
  std::string text =
      with(llama(), {{"rope_scaling", {{"type", "linear"}}}}).dump();
  for (size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(parse(text.substr(0, i), "p"));
    for (char byte : {'\0', '"', '{', '9', '-', '\xff'}) {
      std::string changed = text;
      changed[i] = byte;
      auto c = parse(changed, "p");
      if (c)
        EXPECT_GT(parameterCount(*c), 0);
    }
  }
}
