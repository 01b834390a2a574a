// SPDX-License-Identifier: Apache-2.0
// mistral: a llama with a window in every layer, unless it is null.
#include "lib/HuggingFace/ModelType.h"

namespace act::hf {

static void read(Fields &f, const std::string &file, ModelConfig &c) {
  DecoderDefaults d;
  d.positions = 131072;
  d.kvHeads = 8;
  readDecoder(f, file, c, d);
  bool null = f.has("sliding_window") && !f.find("sliding_window");
  int64_t window = f.dimension("sliding_window", 4096);
  if (!null)
    c.slidingWindow = window;
}

const ModelType mistral = {Family::Mistral,      "mistral",      Head::CausalLM,
                           "MistralForCausalLM", "MistralModel", read};

} // namespace act::hf
