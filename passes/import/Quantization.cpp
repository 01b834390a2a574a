// SPDX-License-Identifier: Apache-2.0
//
// Decides which weights are in nf4: those of the layers' linear ops, except the
// ones that the config excludes.
#include "passes/import/ModelBuilder.h"
#include <set>

namespace act {
namespace {

const char *const skipField = "quantization_config.llm_int8_skip_modules";

llvm::SmallVector<llvm::StringRef> split(llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef> parts;
  name.split(parts, '.');
  return parts;
}

/// Whether an entry of the list names a module, and in which layers.
struct Match {
  bool all = false;              // named in every layer
  std::optional<uint64_t> layer; // named in this layer only
};

/// An entry names a module by adjacent parts of its path, as in transformers 4:
/// `mlp`, `self_attn.q_proj`, `model.layers.3.mlp`. In transformers 5 it may
/// also be the end of the path: `proj`. In `path`, {l} stands for a number.
Match names(llvm::StringRef entry, llvm::StringRef path) {
  if (path.ends_with(entry))
    return {true, {}};
  auto given = split(entry), parts = split(path);
  for (size_t at = 0; at + given.size() <= parts.size(); ++at) {
    Match found{true, {}};
    for (size_t i = 0; i < given.size(); ++i) {
      uint64_t layer;
      if (parts[at + i] == "{l}" && !given[i].getAsInteger(10, layer))
        found = {false, layer};
      else if (parts[at + i] != given[i])
        found = {};
      if (!found.all && !found.layer)
        break;
    }
    if (found.all || found.layer)
      return found;
  }
  return {};
}

/// The linear modules outside the layers, which act never quantises.
std::vector<llvm::StringRef> headLinears(const hf::ModelConfig &c) {
  switch (c.head) {
  case hf::Head::CausalLM:
    return {"lm_head"};
  case hf::Head::MaskedLM:
    return {"cls.predictions.transform.dense", "cls.predictions.decoder"};
  case hf::Head::HiddenStates:
    break;
  }
  return {};
}

/// The layers in which an entry of the list names the linear op at `path`. If
/// one names it in all layers, `whole` is set.
std::set<uint64_t> layersNamed(const std::vector<std::string> &list,
                               const std::string &path, bool &whole) {
  std::set<uint64_t> layers;
  whole = false;
  for (const std::string &entry : list) {
    Match match = names(entry, path);
    whole |= match.all;
    if (match.layer)
      layers.insert(*match.layer);
  }
  return layers;
}

// A list that act cannot follow to the letter is rejected: quantising less or
// more than it says would be another model.
Status checkSkipped(const hf::ModelConfig &c) {
  const auto &skipped = c.quantization->skipped;
  if (!skipped)
    return ok();
  for (llvm::StringRef entry : *skipped)
    if (entry.empty() || entry.find_first_of("*+?^$|()[]{}\\") != entry.npos)
      return Error{"expected names of modules, found '" + entry.str() + "'",
                   skipField};
  for (llvm::StringRef head : headLinears(c))
    if (llvm::none_of(*skipped, [&](const std::string &entry) {
          return names(entry, head).all;
        }))
      return Error{
          "leaves out " + head.str() +
              ", which would then be quantised to 4 bits, but only the layers' "
              "weights can be; add it to the list, or set the list to null",
          skipField};
  for (const LayerLinear &l : layerLinears(c)) {
    bool whole;
    auto layers = layersNamed(*skipped, layerPathOf(c) + l.path.str(), whole);
    if (!whole && !layers.empty() && int64_t(layers.size()) < c.layers)
      return Error{"names " + l.path.str() + " in layer " +
                       std::to_string(*layers.begin()) + ", but not in all " +
                       std::to_string(c.layers) +
                       "; all layers share one function and are quantised "
                       "alike; expected it in all of them or in none",
                   skipField};
  }
  return ok();
}

llvm::StringRef shortName(artifact::DType type) {
  return type == artifact::DType::BF16  ? "bf16"
         : type == artifact::DType::F16 ? "f16"
                                        : "f32";
}

} // namespace

std::optional<LinearQuantization> linearQuantization(const hf::ModelConfig &c,
                                                     const ImportOptions &o) {
  if (!o.nf4 && !c.quantization)
    return std::nullopt;
  LinearQuantization q;
  q.nested = o.nf4 ? o.nf4Nested : c.quantization->nested;
  if (!c.quantization || !c.quantization->skipped)
    return q;
  for (const LayerLinear &l : layerLinears(c)) {
    bool whole;
    auto layers = layersNamed(*c.quantization->skipped,
                              layerPathOf(c) + l.path.str(), whole);
    if (whole || int64_t(layers.size()) == c.layers)
      q.skipped.push_back(l.path.str());
  }
  return q;
}

Status checkQuantization(const hf::ModelConfig &c, const ImportOptions &o,
                         std::vector<std::string> &warnings) {
  if (o.train && !o.loraRank && (o.nf4 || c.quantization))
    return Error{"nf4 weights are frozen: training the rest alone is not "
                 "supported; expected --lora-rank, or --mode infer",
                 o.nf4 ? "--quantize" : "quantization_config"};
  if (!c.quantization)
    return ok();
  artifact::DType type = o.dtype.value_or(c.dtype);
  auto compute = c.quantization->compute;
  if (compute && *compute != type)
    warnings.push_back("quantization_config.bnb_4bit_compute_dtype: is " +
                       shortName(*compute).str() + ", and values are " +
                       shortName(type).str() + ": products are computed from " +
                       shortName(type).str() + " with sums in f32; --dtype " +
                       shortName(*compute).str() + " makes all values " +
                       shortName(*compute).str());
  return checkSkipped(c);
}

} // namespace act
