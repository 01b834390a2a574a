// SPDX-License-Identifier: Apache-2.0
// Sizes of published models under LoRA and in nf4, as their users count them:
// every model is imported, and its parameters are added up.
#include "dialects/act/Dialect.h"
#include "dialects/act/Types.h"
#include "mlir/IR/MLIRContext.h"
#include "passes/import/ImportModel.h"
#include <gtest/gtest.h>

using namespace act;

namespace {

struct Dimensions {
  const char *type;
  int64_t vocab, hidden, layers, heads, kvHeads, intermediate;
  bool tied;
};

hf::ModelConfig config(const Dimensions &d, const std::string &more = "") {
  auto field = [](const char *name, int64_t value) {
    return ", \"" + std::string(name) + "\": " + std::to_string(value);
  };
  auto parsed = hf::parse(
      "{\"model_type\": \"" + std::string(d.type) + "\"" +
          field("vocab_size", d.vocab) + field("hidden_size", d.hidden) +
          field("num_hidden_layers", d.layers) +
          field("num_attention_heads", d.heads) +
          field("num_key_value_heads", d.kvHeads) +
          field("intermediate_size", d.intermediate) +
          ", \"dtype\": \"bfloat16\", \"tie_word_embeddings\": " +
          (d.tied ? "true" : "false") + more + "}",
      "config.json");
  EXPECT_TRUE(parsed) << parsed.error().str();
  return parsed ? *parsed : hf::ModelConfig();
}

struct Sizes {
  int64_t trained = 0; // elements that are not frozen
  int64_t bytes = 0;   // of all
  int64_t nf4 = 0;     // matrices in nf4
};

/// A parameter of a layer is there once for each.
Sizes sizesOf(const hf::ModelConfig &config, const ImportOptions &options) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::vector<std::string> warnings;
  auto module = importModel(config, options, &context, warnings);
  EXPECT_TRUE(module) << module.error().str();
  EXPECT_TRUE(warnings.empty()) << warnings.front();
  Sizes sizes;
  if (!module)
    return sizes;
  for (auto p : (*module)->getOps<ParameterOp>()) {
    auto type = mlir::cast<mlir::RankedTensorType>(p.getType());
    const int64_t layers = p.getLayers().value_or(1);
    if (!p.getFrozen())
      sizes.trained += layers * elementCount(type);
    sizes.bytes += layers * byteSize(type);
    if (mlir::isa<NF4Type>(type.getElementType()))
      sizes.nf4 += layers;
  }
  return sizes;
}

const std::vector<std::string> all = {"q", "k", "v", "o", "gate", "up", "down"};
constexpr Dimensions llama31 = {"llama", 128256, 4096, 32, 32, 8, 14336, false};

} // namespace

// As PEFT prints them.
TEST(PublishedSizes, ParametersOfAdapters) {
  struct Case {
    const char *name;
    Dimensions dimensions;
    int64_t rank;
    std::vector<std::string> targets;
    int64_t trained;
  };
  for (const Case &c : std::initializer_list<Case>{
           {"Llama-3.1-8B", llama31, 16, all, 41943040},
           {"Llama-2-7B",
            {"llama", 32000, 4096, 32, 32, 32, 11008, false},
            8,
            {"q", "v"},
            4194304},
           {"Llama-3.2-1B",
            {"llama", 128256, 2048, 16, 32, 8, 8192, true},
            16,
            all,
            11272192},
           {"Mistral-7B",
            {"mistral", 32768, 4096, 32, 32, 8, 14336, false},
            64,
            all,
            167772160},
           {"Qwen2.5-0.5B",
            {"qwen2", 151936, 896, 24, 14, 2, 4864, true},
            16,
            all,
            8798208},
           {"TinyLlama-1.1B",
            {"llama", 32000, 2048, 22, 32, 4, 5632, false},
            16,
            all,
            12615680}}) {
    ImportOptions options;
    options.seq = 16;
    options.loraRank = c.rank;
    options.loraTargets = c.targets;
    EXPECT_EQ(sizesOf(config(c.dimensions), options).trained, c.trained)
        << c.name;
  }
}

// Llama-3.1-8B under QLoRA: 4 bits a weight and a scale for each 64; nested, a
// byte a scale, an f32 for each 256 of them, and their mean, an f32 a matrix.
// So it is whether the option says it or the config that bitsandbytes wrote.
TEST(PublishedSizes, WeightsInNf4) {
  constexpr int64_t matrices = 32 * 7;
  constexpr int64_t plain = 6111633408, nested = 5786181632 + 4 * matrices;
  ImportOptions qlora;
  qlora.seq = 16;
  qlora.loraRank = 16;
  qlora.loraTargets = all;
  ImportOptions option = qlora;
  option.nf4 = true;
  Sizes sizes = sizesOf(config(llama31), option);
  EXPECT_EQ(sizes.nf4, matrices);
  EXPECT_EQ(sizes.bytes, plain);
  option.nf4Nested = true;
  EXPECT_EQ(sizesOf(config(llama31), option).bytes, nested);

  auto bitsandbytes = [&](const std::string &more) {
    return config(llama31,
                  ", \"quantization_config\": {\"load_in_4bit\": true, "
                  "\"quant_method\": \"bitsandbytes\", "
                  "\"bnb_4bit_compute_dtype\": \"bfloat16\", "
                  "\"bnb_4bit_quant_type\": \"nf4\"" +
                      more + "}");
  };
  EXPECT_EQ(sizesOf(bitsandbytes(""), qlora).bytes, plain);
  const std::string twice = ", \"bnb_4bit_use_double_quant\": true";
  sizes = sizesOf(bitsandbytes(twice), qlora);
  EXPECT_EQ(sizes.nf4, matrices);
  EXPECT_EQ(sizes.bytes, nested);
  EXPECT_EQ(sizes.trained, 41943040);
  // What it leaves out stays in bf16: two of seven matrices of each layer.
  sizes = sizesOf(bitsandbytes(twice + ", \"llm_int8_skip_modules\": "
                                       "[\"lm_head\", \"mlp.down_proj\", "
                                       "\"k_proj\", \"vision_tower\"]"),
                  qlora);
  EXPECT_EQ(sizes.nf4, matrices * 5 / 7);
  EXPECT_EQ(sizes.trained, 41943040);
}
