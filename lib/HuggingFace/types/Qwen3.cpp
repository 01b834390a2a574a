// SPDX-License-Identifier: Apache-2.0
// qwen3: a llama whose heads of queries and keys have a norm.
#include "lib/HuggingFace/ModelType.h"

namespace act::hf {

static void read(Fields &f, const std::string &file, ModelConfig &c) {
  DecoderDefaults d;
  d.positions = 32768;
  d.headDim = 128;
  readDecoder(f, file, c, d);
  c.qkNorm = true;
  c.qkvBias = c.attentionBias = f.flag("attention_bias", false);
  readQwenWindow(f, c);
}

const ModelType qwen3 = {Family::Qwen3,      "qwen3",      Head::CausalLM,
                         "Qwen3ForCausalLM", "Qwen3Model", read};

} // namespace act::hf
