// SPDX-License-Identifier: Apache-2.0
//
// Builds a module in the act dialect from a model's config.json.
//
//   ImportOptions options;
//   options.seq = 4096;
//   auto module =
//       importModel(*hf::load("llama-3.2-3b.json"), options, &context);
//
// The module is forward only. It has parameters under their Hugging Face names,
// one function per kind of layer, and @forward, which maps named inputs to one
// named result.
//
//   mode   model         inputs                      result
//   train  causal        tokens, (attention_mask,)   loss
//                        labels
//   train  masked        tokens, attention_mask,     loss
//                        labels
//   infer  any head      tokens (attention_mask)     logits
//   infer  bare model    tokens (attention_mask)     hidden_states
//   cache  causal        below                       logits [b, V]
//
// With `kvCache` inference also returns the keys (after rope) and values of all
// layers for later tokens, [L, b, s, k, d] each. If only some layers have a
// window, theirs are window_keys and window_values; of functions of several
// layers each has its own, keys_0, keys_1, ...
//
// With `cache` a call adds s tokens to each of b rows, whose earlier tokens are
// in a cache: blocks of u tokens, B of all rows. It is the caller's, who copies
// the results `keys` and `values` [L, t, k, d] into it. Inputs:
//
//   tokens, positions [t]   t = b * s
//   last [b]                the token of each row that gets logits, of t
//   blocks [b, n]           the blocks of each row, in order
//   visible [b, 1, s, c]    which of the row's n * u cached tokens and then s
//                           fresh ones a token sees; visible_window likewise,
//                           for layers with a window
//   cached_keys, ..         [L, B, u * k * d], for each of the results
//
// - Labels are at the position that predicts them: the caller shifts them for a
//   causal model. -100 is ignored.
// - If the config has dropout, training takes two more scalars, seed and step.
// - A packed model takes `cu_seqlens` and flat tokens [t], t = batch * seq.
// - With `attentionMask` a causal model takes an `attention_mask` [b, s], true
//   for tokens and false for padding, which no token sees. Positions count
//   padding, as in transformers when it gets no positions.
//
// Attention is written in primitives, as in the framework: products, mask,
// softmax. A pass fuses it.
//
// The letters of named dimensions: b batch, s sequence (packed: t tokens), h
// hidden size, a heads, k key and value heads (if fewer), d head size, p pairs
// of a head that rope rotates (d / 2), f intermediate size, V vocabulary, P
// positions and T token types (if learned), r LoRA rank, q the width of query,
// key and value together (if they are one product of unequal parts), n blocks
// of a row's cache, B blocks of all rows, c cached and fresh tokens.
// Layers are counted by L, or F without a window and W with one, or C for
// patterns of both. A letter in `symbolic` has no size.
#ifndef ACT_PASSES_IMPORT_IMPORTMODEL_H
#define ACT_PASSES_IMPORT_IMPORTMODEL_H
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/import/ImportOptions.h"

namespace act {

/// Error messages name the option or, if only the config can change it, the
/// config's field. Non-fatal findings go to `warnings`.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
importModel(const hf::ModelConfig &config, const ImportOptions &options,
            mlir::MLIRContext *context, std::vector<std::string> &warnings);

} // namespace act
#endif
