// SPDX-License-Identifier: Apache-2.0
// qwen2: a llama with biases on query, key and value, and a window from some
// layer on.
#include "lib/HuggingFace/ModelType.h"

namespace act::hf {

static void read(Fields &f, const std::string &file, ModelConfig &c) {
  DecoderDefaults d;
  d.positions = 32768;
  readDecoder(f, file, c, d);
  c.qkvBias = true;
  readQwenWindow(f, c);
}

const ModelType qwen2 = {Family::Qwen2,      "qwen2",      Head::CausalLM,
                         "Qwen2ForCausalLM", "Qwen2Model", read};

} // namespace act::hf
