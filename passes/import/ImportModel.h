// SPDX-License-Identifier: Apache-2.0
//
// From a model's config.json to a module in the act dialect.
//
//   ImportOptions options;
//   options.seq = 4096;
//   auto module = importModel(*hf::load("llama-3.2-3b.json"), options,
//   &context);
//
// The module is forward only: parameters under their Hugging Face names, one
// function per kind of layer, and @forward, which maps named inputs to one
// named result.
//
//   mode   model         inputs                      result
//   train  causal        tokens, (attention_mask,)   loss
//                        labels
//   train  masked        tokens, attention_mask,     loss
//                        labels
//   infer  any head      tokens (attention_mask)     logits
//   infer  bare model    tokens (attention_mask)     hidden_states
//
// With `kvCache` inference also returns what later tokens attend to: keys
// (after rope) and values of all layers, [L, b, s, k, d] each. Where only some
// layers have a window, these are window_keys and window_values.
//
// Labels stand at the position that predicts them: whoever feeds a causal model
// has shifted them. -100 is ignored. Where the config asks for dropout,
// training takes two more scalars, seed and step. A packed model takes
// `cu_seqlens` and flat tokens [t], t = batch * seq. A causal model takes an
// `attention_mask` [b, s] (true for tokens, false for padding, which no token
// sees) if it is asked for; positions count padding, as transformers does where
// it is given none.
//
// Attention is written as the framework writes it, in primitives: products,
// mask, softmax. Fusing it is a pass's work.
//
// The letters of named dimensions: b batch, s sequence (packed: t tokens), h
// hidden size, a heads, k key and value heads (where they are fewer), d head
// size, p pairs of a head that rope turns (d / 2), f intermediate size, V
// vocabulary, P positions and T token types (where they are learned), r LoRA's
// rank. A letter in `symbolic` has no size.
#ifndef ACT_PASSES_IMPORT_IMPORTMODEL_H
#define ACT_PASSES_IMPORT_IMPORTMODEL_H
#include "act/HuggingFace/ModelConfig.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace act {

struct ImportOptions {
  std::string name = "model"; // of the module
  int64_t batch = 1;
  std::optional<int64_t> seq; // else min(max positions, 2048)
  std::vector<std::string> symbolic;
  bool packed = false;
  bool attentionMask = false; // of causal models; a bert has one anyhow
  std::optional<int64_t> maxSequences;  // packed; else one per token
  std::optional<artifact::DType> dtype; // else the config's
  bool train = true;
  bool kvCache = false; // inference of causal models
  std::optional<int64_t> loraRank;
  std::optional<double> loraAlpha;      // else 2 * rank
  std::vector<std::string> loraTargets; // else those of query and value
  bool nf4 = false;                     // weights of the layers' linear ops
  bool nf4Nested = false;               // and their scales in 8 bits
  // Without nf4, what the config's quantization_config says.
};

/// Messages name the option or, for what only the config can change, its field.
/// Things worth saying that are no errors go to `warnings`.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
importModel(const hf::ModelConfig &config, const ImportOptions &options,
            mlir::MLIRContext *context, std::vector<std::string> &warnings);

/// `text` as the name of a symbol that prints without quotes.
std::string symbolName(llvm::StringRef text);

} // namespace act
#endif
