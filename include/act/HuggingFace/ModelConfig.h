// SPDX-License-Identifier: Apache-2.0
//
// A Hugging Face config.json as a struct: what the importer must know of a
// model and nothing of MLIR.
//
//   auto config = act::hf::load("llama-3.2-3b.json");
//   if (!config) fail(config.error().str());
//   config->layers;        // 28
//   config->headDim;       // 128, stated or hidden / heads
//
// The five model types differ in spelling more than in kind, so one struct
// holds them all: `n_embd` and `hidden_size` are both `hidden`, and what a type
// does not have is off (a llama has no dropout on its embedding, a gpt2 no
// rope).
//
// What a file may leave out. The model type and the dimensions that make up the
// weights (hidden size, layers, heads, intermediate size where it has no rule,
// vocabulary) must be there: a default would be a guess about somebody's
// weights. Everything else falls back to the default of Hugging Face's
// configuration class of that type, which is what `transformers` itself would
// run: llama's `tie_word_embeddings` is false where gpt2's is true, mistral's
// `sliding_window` is 4096 when absent and off when null.
//
// A field that would change the mathematics and is not supported (other rope
// scalings, a decoder bert, weights quantised in another way than nf4) is an
// error rather than ignored.
// Fields that say nothing about the training step (token ids, cache, versions)
// are ignored. Errors name file and field: `x.json: num_attention_heads:
// expected a divisor of hidden_size 100, found 3`.
#ifndef ACT_HUGGINGFACE_MODELCONFIG_H
#define ACT_HUGGINGFACE_MODELCONFIG_H
#include "act/Artifact/Step.h"
#include "act/Result.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace act::hf {

enum class Family : uint8_t { Llama, Mistral, Qwen2, Gpt2, Bert };

/// What stands on top of the layers, from `architectures`.
enum class Head : uint8_t {
  CausalLM,    // logits, loss against the next token
  MaskedLM,    // bert: transform, decoder and bias; loss against the labels
  HiddenStates // the bare model: last hidden states
};

/// gelu_new and gelu_pytorch_tanh are the same function.
enum class Activation : uint8_t { Silu, Gelu, GeluTanh };

/// How rope's frequencies are changed; Linear divides them all by `factor`,
/// Llama3 only the low ones, with a blend between.
struct RopeScaling {
  enum class Kind : uint8_t { None, Linear, Llama3 };
  Kind kind = Kind::None;
  double factor = 1;
  double lowFreqFactor = 0, highFreqFactor = 0; // Llama3
  int64_t originalMaxPositions = 0;             // Llama3
};

/// Weights of linear layers in nf4, as `quantization_config` asks bitsandbytes
/// for them.
struct Quantization {
  bool nested = false; ///< the blocks' scales in 8 bits: double quantisation
  /// What products are computed in, where it is said.
  std::optional<artifact::DType> compute;
  /// Modules that stay as they are: the name of one, of what it is part of, or
  /// the end of either (`llm_int8_skip_modules`). Absent: the head alone.
  std::optional<std::vector<std::string>> skipped;
};

struct ModelConfig {
  Family family = Family::Llama;
  Head head = Head::CausalLM;
  artifact::DType dtype = artifact::DType::F32; // F32, BF16 or F16

  int64_t vocab = 0;
  int64_t hidden = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kvHeads = 0;
  int64_t headDim = 0; // heads * headDim need not be hidden
  int64_t intermediate = 0;
  int64_t maxPositions = 0;
  int64_t tokenTypes = 0; // bert

  Activation activation = Activation::Silu; // gated in llama, mistral, qwen2
  /// It is called gelu_new: Hugging Face computes it in eight operators, and
  /// PyTorch runs and saves for each of them.
  bool geluInSteps = false;
  double normEps = 0;
  bool tied = false; // the head's matrix is the embedding's

  bool qkvBias = false;       // on q_proj, k_proj, v_proj
  bool attentionBias = false; // on the attention's output projection
  bool mlpBias = false;

  bool rope = false; // else learned positions
  double ropeTheta = 0;
  RopeScaling ropeScaling;

  /// Layers from `firstWindowLayer` on attend to the last `slidingWindow` keys,
  /// the query's own included.
  std::optional<int64_t> slidingWindow;
  int64_t firstWindowLayer = 0;

  /// gpt2 may leave out the division by sqrt(headDim).
  bool scaleAttention = true;

  double embeddingDropout = 0;
  double attentionDropout = 0; // on the probabilities
  double residualDropout = 0;  // on what each block adds
  double initializerRange = 0.02;
  std::optional<int64_t> padToken; // its embedding gets no gradient
  std::optional<Quantization> quantization;
};

/// Reads the text of a config.json; `file` is the name that messages use.
Result<ModelConfig> parse(std::string_view text, const std::string &file);

/// Reads the file at `path`.
Result<ModelConfig> load(const std::string &path);

/// The model type as config.json spells it: "llama", "gpt2", ...
std::string_view name(Family family);

/// Number of weights, a tied head counted once and bert's pooler left out.
/// parse() has checked that it fits.
int64_t parameterCount(const ModelConfig &config);

} // namespace act::hf
#endif
