// SPDX-License-Identifier: Apache-2.0
//
// The number of parameters of a model, from its config alone.
#include "act/HuggingFace/ModelConfig.h"

namespace act::hf {
namespace {

int64_t linear(int64_t in, int64_t out, bool bias) {
  return in * out + (bias ? out : 0);
}

int64_t layer(const ModelConfig &c) {
  int64_t q = c.heads * c.headDim, kv = c.kvHeads * c.headDim;
  bool gated = c.family != Family::Gpt2 && c.family != Family::Bert;
  // A layer norm has a bias, an rms norm has none.
  int64_t norms = gated && !c.outputNorms ? 2 * c.hidden : 4 * c.hidden;
  if (c.qkNorm)
    norms += 2 * c.headDim;
  return norms + linear(c.hidden, q, c.qkvBias) +
         2 * linear(c.hidden, kv, c.qkvBias) +
         linear(q, c.hidden, c.attentionBias) +
         (gated ? 2 : 1) * linear(c.hidden, c.intermediate, c.mlpBias) +
         linear(c.intermediate, c.hidden, c.mlpBias);
}

int64_t head(const ModelConfig &c) {
  int64_t matrix = c.tied ? 0 : c.vocab * c.hidden;
  switch (c.head) {
  case Head::HiddenStates:
    return 0;
  case Head::CausalLM:
    return matrix;
  case Head::MaskedLM: // dense, layer norm, decoder with a bias
    return linear(c.hidden, c.hidden, true) + 2 * c.hidden + matrix + c.vocab;
  }
  return 0;
}

} // namespace

int64_t parameterCount(const ModelConfig &c) {
  int64_t embedding = c.vocab * c.hidden;
  if (!c.rope)
    embedding += (c.maxPositions + c.tokenTypes) * c.hidden;
  // gpt2 ends in a layer norm, bert begins with one.
  int64_t outer = c.rope ? c.hidden : 2 * c.hidden;
  return embedding + outer + c.layers * layer(c) + head(c);
}

} // namespace act::hf
