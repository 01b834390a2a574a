// SPDX-License-Identifier: Apache-2.0
// gpt2: learned positions, layer norms, weights stored [in, out].
#include "lib/HuggingFace/ModelType.h"

namespace act::hf {

static void read(Fields &f, const std::string &, ModelConfig &c) {
  c.hidden = f.dimension("n_embd");
  c.layers = f.dimension("n_layer");
  c.heads = f.dimension("n_head");
  readEqualHeads(f, c, "n_head", "n_embd");
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
  if (!f.flag("scale_attn_weights", true))
    c.attentionScale = 1;
  // The scale would differ between layers, but layers share one repeated body.
  onlyFalse(f, "scale_attn_by_inverse_layer_idx");
  onlyFalse(f, "reorder_and_upcast_attn");
  onlyFalse(f, "add_cross_attention");
}

const ModelType gpt2 = {Family::Gpt2,      "gpt2",      Head::CausalLM,
                        "GPT2LMHeadModel", "GPT2Model", read};

} // namespace act::hf
