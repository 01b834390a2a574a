// SPDX-License-Identifier: Apache-2.0
//
// A model type: its names, and how its config.json is read. A decoder with rms
// norms is a few lines beyond readDecoder(), which reads what they share; the
// importer builds any of them from the parts that are set in the ModelConfig.
//
// To add one, write a file in lib/HuggingFace/types and list it below.
#ifndef ACT_HUGGINGFACE_MODELTYPE_H
#define ACT_HUGGINGFACE_MODELTYPE_H
#include "lib/HuggingFace/Parts.h"

namespace act::hf {

struct ModelType {
  Family family;
  const char *name; // model_type
  Head head;        // of the class `headed`; `bare` is the model without one
  const char *headed, *bare;
  void (*read)(Fields &f, const std::string &file, ModelConfig &c);
};

extern const ModelType llama, mistral, qwen2, qwen3, gemma2, gemma3, phi3, gpt2,
    bert;
constexpr const ModelType *modelTypes[] = {
    &llama, &mistral, &qwen2, &qwen3, &gemma2, &gemma3, &phi3, &gpt2, &bert};

/// What a type's configuration class has where a config says nothing.
struct DecoderDefaults {
  int64_t positions = 2048;
  double eps = 1e-6;
  const char *activationField = "hidden_act", *activation = "silu";
  int64_t headDim = 0; // 0: hidden / heads
  int64_t kvHeads = 0; // if the field is absent; 0: heads
  double theta = 10000;
  bool tied = false;
};
/// Sizes, norms, rope and the mlp of a decoder with rms norms.
void readDecoder(Fields &f, const std::string &file, ModelConfig &c,
                 const DecoderDefaults &defaults);
/// A window in all layers but every `fullEvery`-th one, as `layer_types` or a
/// type's rule says.
void readAlternatingWindow(Fields &f, ModelConfig &c, int64_t window,
                           int64_t fullEvery);
/// qwen's window, which starts at some layer.
void readQwenWindow(Fields &f, ModelConfig &c);
/// As many key heads as heads, and biases on all linear ops: gpt2 and bert.
void readEqualHeads(Fields &f, ModelConfig &c, const char *headsField,
                    const char *hiddenField);
Activation readActivation(Fields &f, const char *name, const char *absent,
                          bool &inSteps);
/// Fails if the flag is set.
void onlyFalse(Fields &f, const char *name);

} // namespace act::hf
#endif
