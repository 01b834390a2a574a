// SPDX-License-Identifier: Apache-2.0
//
// Interprets options for a given config and rejects those it cannot support.
#include "passes/import/ModelBuilder.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/GlobPattern.h"
#include <cmath>

namespace act {

int64_t sequenceLength(const hf::ModelConfig &c, const ImportOptions &o) {
  return o.seq.value_or(std::min<int64_t>(c.maxPositions, 2048));
}

int64_t longestSequence(const hf::ModelConfig &c, const ImportOptions &o) {
  return o.cache ? o.cache->context : sequenceLength(c, o);
}

bool dropsInLayers(const hf::ModelConfig &c, const ImportOptions &o) {
  return o.train && (c.attentionDropout > 0 || c.residualDropout > 0);
}

bool dropsAnywhere(const hf::ModelConfig &c, const ImportOptions &o) {
  return dropsInLayers(c, o) || (o.train && c.embeddingDropout > 0);
}

// A letter stands for one meaning. If all heads have keys of their own, the
// number of key heads is a, so formulas have no k.
std::vector<std::pair<std::string, int64_t>>
dimensionLetters(const hf::ModelConfig &c, const ImportOptions &o) {
  std::vector<std::pair<std::string, int64_t>> letters;
  int64_t seq = sequenceLength(c, o);
  if (o.packed) {
    letters = {{"t", o.batch * seq}};
  } else if (o.cache) {
    const int64_t ofRow = o.cache->context / o.cache->block;
    letters = {
        {"b", o.batch},       {"s", seq},
        {"t", o.batch * seq}, {"B", o.cache->blocks.value_or(o.batch * ofRow)},
        {"n", ofRow},         {"c", o.cache->context + seq}};
  } else {
    letters = {{"b", o.batch}, {"s", seq}};
  }
  letters.insert(letters.end(), {{"h", c.hidden}, {"a", c.heads}});
  if (c.kvHeads != c.heads)
    letters.push_back({"k", c.kvHeads});
  letters.insert(letters.end(),
                 {{"d", c.headDim}, {"f", c.intermediate}, {"V", c.vocab}});
  if (c.fusedProjections && c.kvHeads != c.heads)
    letters.push_back({"q", (c.heads + 2 * c.kvHeads) * c.headDim});
  if (!c.rope)
    letters.push_back({"P", c.maxPositions});
  if (c.tokenTypes)
    letters.push_back({"T", c.tokenTypes});
  if (o.loraRank)
    letters.push_back({"r", *o.loraRank});
  return letters;
}

std::vector<LayerLinear> layerLinears(const hf::ModelConfig &c) {
  if (c.family == hf::Family::Gpt2)
    return {{"attn.c_attn", "h", "3*a*d"},
            {"attn.c_proj", "a*d", "h"},
            {"mlp.c_fc", "h", "f"},
            {"mlp.c_proj", "f", "h"}};
  if (c.family == hf::Family::Bert)
    return {{"attention.self.query", "h", "a*d"},
            {"attention.self.key", "h", "a*d"},
            {"attention.self.value", "h", "a*d"},
            {"attention.output.dense", "a*d", "h"},
            {"intermediate.dense", "h", "f"},
            {"output.dense", "f", "h"}};
  if (c.fusedProjections)
    return {{"self_attn.qkv_proj", "h", c.kvHeads == c.heads ? "3*a*d" : "q"},
            {"self_attn.o_proj", "a*d", "h"},
            {"mlp.gate_up_proj", "h", "2*f"},
            {"mlp.down_proj", "f", "h"}};
  llvm::StringRef kv = c.kvHeads == c.heads ? "a*d" : "d*k";
  return {{"self_attn.q_proj", "h", "a*d"}, {"self_attn.k_proj", "h", kv},
          {"self_attn.v_proj", "h", kv},    {"self_attn.o_proj", "a*d", "h"},
          {"mlp.gate_proj", "h", "f"},      {"mlp.up_proj", "h", "f"},
          {"mlp.down_proj", "f", "h"}};
}

std::string layerPathOf(const hf::ModelConfig &c) {
  const bool bare = c.head == hf::Head::HiddenStates;
  if (c.family == hf::Family::Gpt2)
    return bare ? "h.{l}." : "transformer.h.{l}.";
  if (c.family == hf::Family::Bert)
    return bare ? "encoder.layer.{l}." : "bert.encoder.layer.{l}.";
  return bare ? "layers.{l}." : "model.layers.{l}.";
}

// "c" is no short form: gpt2 has c_attn, c_fc and two c_proj, so it would name
// some of them and not others.
bool namesModule(llvm::StringRef target, llvm::StringRef path) {
  auto ends = [&](llvm::StringRef name) {
    return path == name || path.ends_with(("." + name).str());
  };
  if (ends(target))
    return true;
  if (ends((target + "_proj").str()) && !target.contains('_') && target != "c")
    return true;
  return (target == "q" && ends("query")) || (target == "k" && ends("key")) ||
         (target == "v" && ends("value"));
}

std::vector<std::string> loraTargets(const hf::ModelConfig &c,
                                     const ImportOptions &o) {
  if (!o.loraRank)
    return {};
  if (o.loraTargets == std::vector<std::string>{"all-linear"}) { // peft's name
    std::vector<std::string> all;
    for (const LayerLinear &l : layerLinears(c))
      all.push_back(l.path.str());
    return all;
  }
  if (!o.loraTargets.empty())
    return o.loraTargets;
  if (c.family == hf::Family::Gpt2)
    return {"c_attn"};
  if (c.fusedProjections)
    return {"qkv_proj"};
  return {"q", "v"};
}

// The size of a dimension that is a product of letters and numbers: 3*a*d.
static int64_t sizeOf(llvm::StringRef dim, const hf::ModelConfig &c,
                      const ImportOptions &o) {
  llvm::SmallVector<llvm::StringRef> terms;
  dim.split(terms, '*');
  int64_t size = 1;
  for (llvm::StringRef term : terms) {
    int64_t n;
    if (!term.getAsInteger(10, n))
      size *= n;
    for (auto &[letter, value] : dimensionLetters(c, o))
      if (term == letter)
        size *= value;
  }
  return size;
}

static Error fail(llvm::StringRef option, const llvm::Twine &message) {
  return Error{message.str(), ("--" + option).str()};
}

// Rope has a value at any position, so a longer sequence is only a warning;
// learned positions end with their table.
static Status checkShape(const hf::ModelConfig &c, const ImportOptions &o,
                         std::vector<std::string> &warnings) {
  auto natural = [](llvm::StringRef option, int64_t value) -> Status {
    if (value >= 1 && value <= INT32_MAX)
      return ok();
    return fail(option, "expected a number from 1 to 2147483647, found " +
                            llvm::Twine(value));
  };
  int64_t seq = sequenceLength(c, o);
  if (auto s = natural("batch", o.batch); !s)
    return s;
  if (auto s = natural("seq", seq); !s)
    return s;
  const char *field =
      c.family == hf::Family::Gpt2 ? "n_positions" : "max_position_embeddings";
  const int64_t longest = longestSequence(c, o);
  const char *option = o.cache ? "context" : "seq";
  if (longest > c.maxPositions) {
    std::string more = llvm::Twine(longest).str() +
                       " is more than the config's " + field + " " +
                       std::to_string(c.maxPositions);
    if (!c.rope)
      return fail(option, more);
    warnings.push_back("--" + std::string(option) + ": " + more);
  }
  // Token indices are i32.
  if (o.packed && o.batch > (INT32_MAX - 1) / seq)
    return fail("packed", "expected less than 2^31 - 1 tokens, found batch " +
                              llvm::Twine(o.batch) + " times seq " +
                              llvm::Twine(seq));
  if (!o.packed)
    return ok();
  if (c.family == hf::Family::Bert)
    return fail("packed",
                "a bert attends by attention_mask and cannot be packed; use "
                "act-run --attention-mask to hide its padding");
  if (o.attentionMask)
    return fail(
        "attention-mask",
        "a packed model sees sequences by their boundaries, and padding "
        "is a sequence of its own; expected one of --packed and "
        "--attention-mask");
  if (!o.maxSequences)
    return ok();
  if (auto s = natural("packed", *o.maxSequences); !s)
    return s;
  if (*o.maxSequences > o.batch * seq)
    return fail("packed", "expected at most one sequence per token, " +
                              llvm::Twine(o.batch * seq) + ", found " +
                              llvm::Twine(*o.maxSequences));
  return ok();
}

// A product of two LoRA matrices has at most the rank of the weight's smaller
// dimension; a larger one would only add parameters.
static Status checkLora(const hf::ModelConfig &c, const ImportOptions &o) {
  for (const std::string &pattern : o.frozen)
    if (auto glob = llvm::GlobPattern::create(pattern); !glob)
      return fail("freeze", llvm::toString(glob.takeError()));
  if (!o.loraRank) {
    if (!o.trained.empty())
      return fail("train",
                  "needs --lora-rank: without adapters all modules are "
                  "trained");
    if (o.loraAlpha)
      return fail("lora-alpha", "needs --lora-rank");
    if (!o.loraTargets.empty())
      return fail("lora-targets", "needs --lora-rank");
    return ok();
  }
  int64_t rank = *o.loraRank;
  if (rank < 1)
    return fail("lora-rank",
                "expected a number of at least 1, found " + llvm::Twine(rank));
  if (o.loraAlpha && !std::isfinite(*o.loraAlpha))
    return fail("lora-alpha", "expected a finite number");
  std::string known;
  for (const LayerLinear &l : layerLinears(c))
    known += (known.empty() ? "" : ", ") + l.path.str();
  for (const std::string &target : loraTargets(c, o)) {
    bool found = false;
    for (const LayerLinear &l : layerLinears(c)) {
      if (!namesModule(target, l.path))
        continue;
      found = true;
      int64_t least = std::min(sizeOf(l.in, c, o), sizeOf(l.out, c, o));
      if (rank > least)
        return fail("lora-rank", "expected at most " + llvm::Twine(least) +
                                     ", the smaller dimension of " + l.path +
                                     ", found " + llvm::Twine(rank));
    }
    if (!found)
      return fail("lora-targets", "expected the name of one of " + known +
                                      ", or the end of one, found " + target);
  }
  return ok();
}

static Status checkSymbolic(const hf::ModelConfig &c, const ImportOptions &o,
                            std::vector<std::string> &warnings) {
  std::string known;
  auto letters = dimensionLetters(c, o);
  for (auto &[letter, size] : letters)
    known += (known.empty() ? "" : ", ") + letter;
  for (const std::string &letter : o.symbolic)
    if (letter == "k" && c.kvHeads == c.heads)
      warnings.push_back("--symbolic k: there are as many heads of keys as of "
                         "queries, and both are named a");
    else if (llvm::none_of(letters, [&](auto &l) { return l.first == letter; }))
      return fail("symbolic", "expected letters of " + known + ", found " +
                                  (letter.empty() ? "nothing" : letter));
  return ok();
}

static Status checkCache(const hf::ModelConfig &c, const ImportOptions &o) {
  if (!o.cache)
    return ok();
  const int64_t block = o.cache->block, context = o.cache->context;
  if (c.family == hf::Family::Bert)
    return fail("mode", "a bert sees all tokens at once and writes none");
  if (o.packed || o.attentionMask || o.kvCache || !o.symbolic.empty())
    return fail("mode", "generate has masks, positions and sizes of its own: "
                        "expected none of --packed, --attention-mask, "
                        "--kv-cache and --symbolic");
  if (block < 1 || block > INT32_MAX)
    return fail("cache-block",
                "expected a number from 1 to 2147483647, found " +
                    llvm::Twine(block));
  if (context < block || context % block != 0 || context > INT32_MAX)
    return fail("context", "expected a multiple of the block's " +
                               llvm::Twine(block) + " tokens, found " +
                               llvm::Twine(context));
  int64_t blocks = o.cache->blocks.value_or(1);
  if (blocks < 1 || blocks > INT32_MAX)
    return fail("cache-blocks",
                "expected a number from 1 to 2147483647, found " +
                    llvm::Twine(blocks));
  return ok();
}

Status checkOptions(const hf::ModelConfig &c, const ImportOptions &o,
                    std::vector<std::string> &warnings) {
  if (auto s = checkShape(c, o, warnings); !s)
    return s;
  if (auto s = checkLora(c, o); !s)
    return s;
  if (auto s = checkSymbolic(c, o, warnings); !s)
    return s;
  if (o.train && c.head == hf::Head::HiddenStates)
    return fail("mode", "the config's architectures name a bare " +
                            llvm::Twine(std::string(hf::name(c.family))) +
                            ", which has no loss to train; expected --mode "
                            "infer, or the config of a model with a head");
  if (o.kvCache && o.train)
    return fail("kv-cache", "needs --mode infer: a training step attends to "
                            "whole sequences");
  if (auto s = checkCache(c, o); !s)
    return s;
  if (o.kvCache && c.family == hf::Family::Bert)
    return fail("kv-cache", "a bert sees all tokens at once and keeps none for "
                            "later ones");
  return checkQuantization(c, o, warnings);
}

} // namespace act
