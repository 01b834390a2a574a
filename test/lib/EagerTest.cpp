// SPDX-License-Identifier: Apache-2.0
// PyTorch eager without values. test/python/torch_view_test.py compares it with
// PyTorch; here are figures that PyTorch gave, and what needs no PyTorch.
#include "act/Eager/Formulas.h"
#include "test/Samples.h"
#include "gtest/gtest.h"
#include <array>
#include <random>

using namespace act;
using namespace act::eager;

namespace {

// Llama-3.1-8B, the fields that matter.
Model llama8b(int64_t seq) {
  auto config = hf::parse(R"({"architectures": ["LlamaForCausalLM"],
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8,
    "intermediate_size": 14336, "vocab_size": 128256,
    "torch_dtype": "bfloat16"})",
                          "llama.json");
  Model model;
  model.config = *config;
  model.seq = seq;
  return model;
}

int64_t layerBytes(const Run &run, int layer) {
  int64_t sum = 0;
  for (const Saved &s : run.saved)
    if (s.layer == layer)
      sum += s.bytes;
  return sum;
}

TEST(Eager, KeepsWhatPyTorchKeeps) {
  const std::pair<Attention, int64_t> known[] = {
      {Attention::Eager, 1241530368},
      {Attention::Math, 1023426560},
      {Attention::Efficient, 436486160},
      {Attention::Flash, 411320344}};
  for (auto [attention, bytes] : known) {
    Options options;
    options.attention = attention;
    auto run = eager::run(llama8b(2048), options);
    ASSERT_TRUE(run) << run.error().str();
    EXPECT_EQ(layerBytes(*run, 7), bytes) << name(attention);
  }
}

TEST(Eager, PeaksInTheLossOfLlama) {
  auto run = eager::run(llama8b(2048), {});
  ASSERT_TRUE(run);
  EXPECT_EQ(run->retainedBytes, 14281106188);
  EXPECT_EQ(run->peakBytes, 16382436104);
  for (const Allocation &a : run->allocations)
    if (a.born == run->peakMoment) {
      EXPECT_STREQ(a.op, "_log_softmax_backward_data");
    }
}

// Fewer segments keep less and peak at another place.
TEST(Eager, Checkpoints) {
  auto peak = [](int64_t segments, bool reentrant) {
    Options options;
    options.reentrant = reentrant;
    for (int64_t i = 1; i <= segments; ++i)
      options.segments.push_back((2 * i * 32 + segments) / (2 * segments));
    auto run = eager::run(llama8b(4096), options);
    return run ? run->peakBytes : -1;
  };
  EXPECT_EQ(peak(32, false), 7514144776);
  EXPECT_EQ(peak(6, false), 6641729544);
  EXPECT_EQ(peak(4, false), 6985908424);
  EXPECT_EQ(peak(32, true), 7514144776);
}

// Every figure is a sum over the log.
TEST(Eager, AgreesWithItsLog) {
  for (int64_t segments : {0, 1, 8, 32}) {
    Options options;
    for (int64_t i = 1; i <= segments; ++i)
      options.segments.push_back(i * 32 / segments);
    auto run = eager::run(llama8b(512), options);
    ASSERT_TRUE(run);
    int64_t saved = 0, most = 0;
    for (const Saved &s : run->saved)
      saved += s.bytes;
    EXPECT_EQ(saved, run->retainedBytes);
    for (int64_t bytes : liveBytes(*run)) {
      EXPECT_GE(bytes, 0);
      most = std::max(most, bytes);
    }
    EXPECT_EQ(most, run->peakBytes);
    for (const Allocation &a : run->allocations)
      EXPECT_LT(a.born, a.died);
  }
}

// As scaled_dot_product_attention on CUDA: by type, size of heads and mask.
TEST(Eager, ChoosesAsPyTorchDoes) {
  struct Case {
    artifact::DType dtype;
    int64_t headDim;
    bool window;
    const char *chosen;
  };
  using artifact::DType;
  for (const Case &c : std::initializer_list<Case>{
           {DType::BF16, 128, false, "sdpa: sdpa-flash"},
           {DType::F16, 100, false, "sdpa: sdpa-flash"},
           {DType::BF16, 264, false, "sdpa: sdpa-efficient"},
           {DType::BF16, 260, false, "sdpa: sdpa-math"},
           {DType::F32, 128, false, "sdpa: sdpa-efficient"},
           {DType::F32, 100, false, "sdpa: sdpa-efficient"},
           {DType::F32, 98, false, "sdpa: sdpa-math"},
           {DType::BF16, 128, true,
            "sdpa: sdpa-flash, under a mask sdpa-efficient"},
           {DType::BF16, 100, true, "sdpa: sdpa-flash, under a mask sdpa-math"},
           {DType::F32, 128, true,
            "sdpa: sdpa-efficient, under a mask sdpa-efficient"}}) {
    Model model = llama8b(64);
    model.config.dtype = c.dtype;
    model.config.headDim = c.headDim;
    model.config.layers = 2;
    if (c.window) {
      model.config.family = hf::Family::Qwen2;
      model.config.slidingWindow = 16;
      model.config.firstWindowLayer = 1;
    }
    Options options;
    ASSERT_TRUE(setAttention("sdpa", model, options));
    EXPECT_EQ(describeAttention(model, options), c.chosen);
    auto run = eager::run(model, options);
    EXPECT_TRUE(run) << c.chosen << ": " << run.error().str();
  }
  // Grouped heads are not repeated for a kernel that was chosen: of the eight
  // of keys and values, 24 more would be kept for each.
  Model model = llama8b(2048);
  model.config.dtype = DType::F32;
  Options asked, chosen;
  ASSERT_TRUE(setAttention("mem_efficient", model, asked));
  ASSERT_TRUE(setAttention("SDPA", model, chosen));
  auto repeated = eager::run(model, asked), grouped = eager::run(model, chosen);
  ASSERT_TRUE(repeated && grouped);
  EXPECT_EQ(layerBytes(*repeated, 7) - layerBytes(*grouped, 7),
            2 * 2048 * 24 * 128 * 4);
}

TEST(Eager, TakesTheNamesThatUsersType) {
  const std::pair<const char *, Attention> known[] = {
      {"eager", Attention::Eager},
      {"sdpa-math", Attention::Math},
      {"flash_attention_2", Attention::Flash},
      {"flash-attention-3", Attention::Flash},
      {"Flash", Attention::Flash},
      {"efficient_attention", Attention::Efficient}};
  const Model model = llama8b(64);
  for (auto [name, attention] : known) {
    Options options;
    options.attention =
        attention == Attention::Eager ? Attention::Math : Attention::Eager;
    ASSERT_TRUE(setAttention(name, model, options)) << name;
    EXPECT_EQ(options.attention, attention) << name;
    EXPECT_FALSE(options.chosen);
  }
  Options options;
  EXPECT_EQ(setAttention("flex_attention", model, options).error().message,
            "unknown attention 'flex_attention': expected sdpa, eager, "
            "sdpa-math, sdpa-flash, sdpa-efficient or flash_attention_2");
}

TEST(Eager, RefusesWhatPyTorchHasNoKernelFor) {
  Model model = llama8b(64);
  model.config.dtype = artifact::DType::F32;
  auto run = eager::run(model, {});
  ASSERT_FALSE(run);
  EXPECT_NE(run.error().message.find("16-bit heads"), std::string::npos);
  model = llama8b(64);
  model.config.headDim = 100;
  Options options;
  options.attention = Attention::Efficient;
  run = eager::run(model, options);
  ASSERT_FALSE(run);
  EXPECT_NE(run.error().message.find("multiple of 8"), std::string::npos);
}

/// A small model of some family, whose sizes are drawn. What decides how
/// tensors are laid out (groups of heads or none, sizes of one) is drawn by
/// `kind`.
Model drawn(std::mt19937 &random, int kind) {
  auto draw = [&](int64_t from, int64_t to) {
    return std::uniform_int_distribution<int64_t>(from, to)(random);
  };
  Model m;
  hf::ModelConfig &c = m.config;
  c.family = std::array{hf::Family::Llama, hf::Family::Llama, hf::Family::Gpt2,
                        hf::Family::Bert, hf::Family::Mistral}[kind];
  bool turned = kind < 2 || kind == 4;
  c.dtype = artifact::DType::BF16;
  c.head = kind == 3 ? hf::Head::MaskedLM : hf::Head::CausalLM;
  c.activation = turned ? hf::Activation::Silu : hf::Activation::Gelu;
  c.rope = turned;
  c.headDim = 8 * draw(1, 9);
  c.kvHeads = draw(2, 5);
  c.heads = kind == 1 || kind == 4 ? c.kvHeads * draw(2, 4) : c.kvHeads;
  c.hidden = turned ? 2 * draw(20, 90) : c.heads * c.headDim;
  c.intermediate = draw(30, 200);
  c.vocab = draw(100, 400);
  c.layers = draw(3, 7);
  c.qkvBias = c.attentionBias = c.mlpBias = !turned;
  c.tokenTypes = kind == 3 ? 2 : 0;
  m.batch = draw(2, 5);
  m.seq = 32 * draw(1, 6);
  c.maxPositions = m.seq + draw(0, 50);
  if (kind == 2)
    c.residualDropout = 0.1;
  return m;
}

symbolic::Letters lettersOf(const Model &m) {
  const hf::ModelConfig &c = m.config;
  return {{"b", m.batch},        {"s", m.seq},     {"h", c.hidden},
          {"a", c.heads},        {"k", c.kvHeads}, {"d", c.headDim},
          {"f", c.intermediate}, {"V", c.vocab},   {"P", c.maxPositions},
          {"L", c.layers}};
}

// A formula of one model gives the bytes of others, of other sizes and depths.
TEST(Eager, FormulasHoldForOtherSizes) {
  std::mt19937 random(3);
  int tried = 0;
  for (int kind = 0; kind < 5; ++kind)
    for (Attention attention : {Attention::Eager, Attention::Math,
                                Attention::Flash, Attention::Efficient})
      for (int checkpoints = 0; checkpoints < 3; ++checkpoints) {
        auto optionsOf = [&](const Model &m) {
          Options options;
          options.attention = attention;
          options.checkpointAttention = checkpoints == 1;
          for (int64_t i = 0; checkpoints == 2 && i < m.config.layers; ++i)
            options.segments.push_back(i + 1);
          return options;
        };
        Model model = drawn(random, kind);
        auto run = eager::run(model, optionsOf(model));
        ASSERT_TRUE(run) << run.error().str();
        auto found = formulas(model, optionsOf(model), *run);
        ASSERT_TRUE(found) << kind << " " << name(attention) << " "
                           << checkpoints;
        for (const Formulas::Condition &c : found->conditions)
          EXPECT_EQ(c.name, "s_mod_32");
        for (int i = 0; i < samples(4); ++i, ++tried) {
          Model other = drawn(random, kind);
          auto its = eager::run(other, optionsOf(other));
          ASSERT_TRUE(its);
          auto retained = found->retained.evaluate(lettersOf(other));
          auto peak = found->peak.evaluate(lettersOf(other));
          ASSERT_TRUE(retained && peak) << found->retained.str();
          EXPECT_EQ(*retained, its->retainedBytes)
              << kind << " " << name(attention) << " " << checkpoints << ": "
              << found->retained.str();
          EXPECT_EQ(*peak, its->peakBytes)
              << kind << " " << name(attention) << " " << checkpoints << ": "
              << found->peak.str();
        }
      }
  EXPECT_EQ(tried, 60 * samples(4));
}

// Depth stays a number where runs of layers are checkpointed together, and a
// size of one where it is laid out in its own way.
TEST(Eager, FormulasSayWhatTheyHoldFor) {
  Model model = llama8b(512);
  auto one = eager::run(model, {});
  ASSERT_TRUE(one);
  auto ofOne = formulas(model, {}, *one);
  ASSERT_TRUE(ofOne);
  ASSERT_EQ(ofOne->conditions.size(), 1u); // labels need no copy
  EXPECT_EQ(ofOne->conditions[0].name, "b");
  model.batch = 2;
  Options options;
  options.segments = {16, 32};
  auto run = eager::run(model, options);
  ASSERT_TRUE(run);
  auto found = formulas(model, options, *run);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->conditions.size(), 1u);
  EXPECT_EQ(found->conditions[0].name, "L");
  EXPECT_EQ(found->conditions[0].value, 32);
  EXPECT_EQ(found->retained.str().find('L'), std::string::npos);
  model.config.headDim = 100;
  auto odd = eager::run(model, {});
  ASSERT_TRUE(odd);
  auto padded = formulas(model, {}, *odd);
  ASSERT_TRUE(padded);
  ASSERT_EQ(padded->conditions.size(), 1u);
  EXPECT_EQ(padded->conditions[0].name, "d_mod_8");
  EXPECT_EQ(padded->conditions[0].value, 4);
}

} // namespace
