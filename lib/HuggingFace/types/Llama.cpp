// SPDX-License-Identifier: Apache-2.0
// llama: rms norm before each block, rope, a gated mlp, grouped keys.
#include "lib/HuggingFace/ModelType.h"

namespace act::hf {

static void read(Fields &f, const std::string &file, ModelConfig &c) {
  readDecoder(f, file, c, {});
  c.qkvBias = c.attentionBias = f.flag("attention_bias", false);
  c.mlpBias = f.flag("mlp_bias", false);
}

const ModelType llama = {Family::Llama,      "llama",      Head::CausalLM,
                         "LlamaForCausalLM", "LlamaModel", read};

} // namespace act::hf
