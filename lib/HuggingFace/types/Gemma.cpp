// SPDX-License-Identifier: Apache-2.0
// gemma2 and gemma3: scaled embeddings, norms of 1 + weight before and after
// each block, a scale of its own for queries, layers with a window between full
// ones.
#include "lib/HuggingFace/ModelType.h"
#include <cmath>

namespace act::hf {

static void readBoth(Fields &f, const std::string &file, ModelConfig &c,
                     int64_t positions, double theta) {
  DecoderDefaults d;
  d.positions = positions;
  d.activationField = "hidden_activation";
  d.activation = "gelu_pytorch_tanh";
  d.headDim = 256;
  d.theta = theta;
  d.tied = true;
  readDecoder(f, file, c, d);
  c.qkvBias = c.attentionBias = f.flag("attention_bias", false);
  c.padToken = 0;
  c.normPlusOne = c.outputNorms = true;
  c.embeddingScale = std::sqrt(double(c.hidden));
  c.attentionScale = 1 / std::sqrt(f.positive("query_pre_attn_scalar", 256));
  onlyFalse(f, "use_bidirectional_attention");
}

static void readGemma2(Fields &f, const std::string &file, ModelConfig &c) {
  readBoth(f, file, c, 8192, 10000);
  readAlternatingWindow(f, c, 4096, /*fullEvery=*/2);
  auto cap = [&](const char *name, double absent) {
    return f.has(name) && !f.find(name)
               ? std::nullopt
               : std::optional(f.positive(name, absent));
  };
  c.attentionSoftcap = cap("attn_logit_softcapping", 50);
  c.logitsSoftcap = cap("final_logit_softcapping", 30);
}

static void readGemma3(Fields &f, const std::string &file, ModelConfig &c) {
  c.windowRopeTheta = f.positive("rope_local_base_freq", 10000);
  readBoth(f, file, c, 131072, 1e6);
  c.qkNorm = true;
  readAlternatingWindow(f, c, 4096, f.dimension("sliding_window_pattern", 6));
  if (f.find("attn_logit_softcapping"))
    c.attentionSoftcap = f.positive("attn_logit_softcapping");
  if (f.find("final_logit_softcapping"))
    c.logitsSoftcap = f.positive("final_logit_softcapping");
}

const ModelType gemma2 = {Family::Gemma2,      "gemma2",      Head::CausalLM,
                          "Gemma2ForCausalLM", "Gemma2Model", readGemma2};
const ModelType gemma3 = {Family::Gemma3,    "gemma3_text",
                          Head::CausalLM,    "Gemma3ForCausalLM",
                          "Gemma3TextModel", readGemma3};

} // namespace act::hf
