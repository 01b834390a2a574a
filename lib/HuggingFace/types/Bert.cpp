// SPDX-License-Identifier: Apache-2.0
// bert: three embeddings, layer norm after each block.
#include "lib/HuggingFace/ModelType.h"

namespace act::hf {

static void read(Fields &f, const std::string &, ModelConfig &c) {
  c.hidden = f.dimension("hidden_size");
  c.layers = f.dimension("num_hidden_layers");
  c.heads = f.dimension("num_attention_heads");
  readEqualHeads(f, c, "num_attention_heads", "hidden_size");
  c.intermediate = f.dimension("intermediate_size");
  c.maxPositions = f.dimension("max_position_embeddings", 512);
  c.tokenTypes = f.dimension("type_vocab_size", 2);
  c.padToken = 0;
  c.activation = readActivation(f, "hidden_act", "gelu", c.geluInSteps);
  c.normEps = f.positive("layer_norm_eps", 1e-12);
  c.tied = f.flag("tie_word_embeddings", true);
  c.embeddingDropout = c.residualDropout =
      f.probability("hidden_dropout_prob", 0.1);
  c.attentionDropout = f.probability("attention_probs_dropout_prob", 0.1);
  f.word("position_embedding_type", {"absolute"}, 0);
  onlyFalse(f, "is_decoder");
  onlyFalse(f, "add_cross_attention");
}

const ModelType bert = {Family::Bert,      "bert",      Head::MaskedLM,
                        "BertForMaskedLM", "BertModel", read};

} // namespace act::hf
