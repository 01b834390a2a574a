// SPDX-License-Identifier: Apache-2.0
// PyTorch eager without values. test/python/torch_view_test.py compares it with
// PyTorch; here are figures that PyTorch gave, and what needs no PyTorch.
#include "act/Eager/Eager.h"
#include "gtest/gtest.h"

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

} // namespace
