// SPDX-License-Identifier: Apache-2.0
//
// A Hugging Face config.json as a struct: what the importer needs to know about
// a model, independent of MLIR.
//
//   auto config = act::hf::load("llama-3.2-3b.json");
//   if (!config) fail(config.error().str());
//   config->layers;        // 28
//   config->headDim;       // 128, stated or hidden / heads
//
// Model types differ in spelling and in the parts that they are made of, so one
// struct holds them all: `n_embd` and `hidden_size` are both `hidden`. Features
// that a type lacks are off (a llama has no dropout on its embedding, a gpt2 no
// rope). Each type is a file in lib/HuggingFace/types.
//
// Required fields: the model type and the dimensions of the weights (hidden
// size, layers, heads, vocabulary, and intermediate size unless the type has a
// rule for it). A default would be a guess about the weights. Everything else
// defaults as in Hugging Face's configuration class of that type, which is what
// `transformers` would run: `tie_word_embeddings` is false for llama and true
// for gpt2, mistral's `sliding_window` is 4096 when absent and off when null.
//
// An unsupported field that would change the mathematics (other rope scalings,
// a decoder bert, weights quantised in another way than nf4) is an error.
// Fields that do not affect the training step (token ids, cache, versions) are
// ignored. Errors name file and field: `x.json: num_attention_heads:
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

enum class Family : uint8_t {
  Llama,
  Mistral,
  Qwen2,
  Qwen3,
  Gemma2,
  Gemma3,
  Phi3,
  Gpt2,
  Bert
};

/// The part after the last layer, from `architectures`.
enum class Head : uint8_t {
  CausalLM,    // logits, loss against the next token
  MaskedLM,    // bert: transform, decoder and bias; loss against the labels
  HiddenStates // the bare model: last hidden states
};

/// gelu_new and gelu_pytorch_tanh are the same function.
enum class Activation : uint8_t { Silu, Gelu, GeluTanh };

/// Scaling of rope's frequencies. Linear divides all of them by `factor`,
/// Llama3 only the low ones, with a blend in between, and Yarn those that turn
/// less than so often in the original length. Dynamic changes the base with the
/// length of the sequence, LongRope divides each frequency by a factor of its
/// own, of two lists. ropeFrequencies() has the formulas.
struct RopeScaling {
  enum class Kind : uint8_t { None, Linear, Llama3, Dynamic, Yarn, LongRope };
  Kind kind = Kind::None;
  double factor = 1;
  double lowFreqFactor = 0, highFreqFactor = 0; // Llama3
  int64_t originalMaxPositions = 0;             // Llama3, Yarn, LongRope
  double betaFast = 32, betaSlow = 1;           // Yarn: turns
  bool truncate = true;                         // Yarn
  double attentionFactor = 1; // Yarn, LongRope: of cosines and sines
  std::vector<double> shortFactors, longFactors; // LongRope
};

/// nf4 weights of linear layers, as `quantization_config` specifies them for
/// bitsandbytes.
struct Quantization {
  bool nested = false; ///< 8-bit block scales: double quantisation
  /// The type that products are computed in, if given.
  std::optional<artifact::DType> compute;
  /// Modules that are not quantised, by name, by the name of a module that
  /// contains them, or by the end of either (`llm_int8_skip_modules`). Absent:
  /// the head only.
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
  int64_t originalMaxPositions = 0; // before a scaling of rope
  int64_t tokenTypes = 0;           // bert

  Activation activation = Activation::Silu; // gated in decoders with rope
  /// The activation is named gelu_new, which Hugging Face computes in eight
  /// operators; PyTorch runs each of them and saves values for each.
  bool geluInSteps = false;
  double normEps = 0;
  bool tied = false; // the head uses the embedding's matrix

  bool qkvBias = false;       // on q_proj, k_proj, v_proj
  bool attentionBias = false; // on the attention's output projection
  bool mlpBias = false;

  bool rope = false; // else learned positions
  double ropeTheta = 0;
  RopeScaling ropeScaling;

  /// Layers from `firstWindowLayer` on attend to the last `slidingWindow` keys,
  /// including the query's own; of every `fullEvery` layers the last attends to
  /// all (0: none does).
  std::optional<int64_t> slidingWindow;
  int64_t firstWindowLayer = 0;
  int64_t fullEvery = 0;
  bool slides(int64_t layer) const {
    return slidingWindow && layer >= firstWindowLayer &&
           !(fullEvery && (layer + 1) % fullEvery == 0);
  }
  /// Rope's base in layers with a window, if it is another one; unscaled.
  std::optional<double> windowRopeTheta;

  /// Scores are multiplied by it; null: they are divided by sqrt(headDim).
  std::optional<double> attentionScale;
  /// x becomes cap * tanh(x / cap): of scores and of logits.
  std::optional<double> attentionSoftcap, logitsSoftcap;

  // Parts of decoders with rms norms (all but gpt2 and bert).
  bool qkNorm = false;      // each head of queries and keys has a norm
  bool normPlusOne = false; // norms multiply by 1 + weight
  bool outputNorms = false; // what attention and mlp give has a norm, too
  /// One linear op for query, key and value, and one for gate and up.
  bool fusedProjections = false;
  double embeddingScale = 1; // embeddings are multiplied by it

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

/// What a scaling other than Linear and Llama3 makes of rope at sequences of a
/// length: the base, or how far each pair of a head turns from one position to
/// the next, and the factor of cosines and sines.
struct RopeFrequencies {
  double theta = 0;
  std::vector<double> turns; // empty: theta says it
  double scale = 1;
};
RopeFrequencies ropeFrequencies(double theta, const RopeScaling &scaling,
                                int64_t headDim, int64_t maxPositions,
                                int64_t sequence);

/// Number of weights. A tied head counts once, bert's pooler not at all.
/// parse() has checked that the number fits.
int64_t parameterCount(const ModelConfig &config);

} // namespace act::hf
#endif
