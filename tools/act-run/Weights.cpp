// SPDX-License-Identifier: Apache-2.0
#include "tools/act-run/Weights.h"
#include <cstring>
#include <set>
#include <string_view>

using namespace act;
using namespace act::run;

static bool endsWith(std::string_view s, std::string_view end) {
  return s.size() >= end.size() && s.substr(s.size() - end.size()) == end;
}
static bool startsWith(std::string_view s, std::string_view start) {
  return s.substr(0, start.size()) == start;
}

static bool isComputedBuffer(const std::string &name) {
  for (const char *end : {"rotary_emb.inv_freq", ".attn.bias",
                          ".attn.masked_bias", "embeddings.position_ids"})
    if (endsWith(name, end))
      return true;
  return startsWith(name, "pooler.") || startsWith(name, "bert.pooler.");
}

static bool isAdapter(const std::string &name) {
  return name.find("lora_A") != std::string::npos ||
         name.find("lora_B") != std::string::npos;
}

// "file name -> parameter": unchanged, or one prefix added or removed,
// whichever names the most parameters.
static std::map<std::string, const safetensors::Tensor *>
matchNames(const Model &model, const safetensors::File &file) {
  std::set<std::string> known;
  for (const Entity &p : model.parameters) {
    known.insert(p.name);
    known.insert(p.tied.begin(), p.tied.end());
  }
  std::map<std::string, const safetensors::Tensor *> best;
  size_t bestHits = 0;
  bool first = true;
  for (std::string prefix : {"", "model.", "transformer.", "bert."})
    for (bool add : {true, false}) {
      std::map<std::string, const safetensors::Tensor *> names;
      size_t hits = 0;
      for (const auto &t : file.tensors()) {
        std::string n = t.name;
        if (!known.count(n) && !prefix.empty()) {
          if (add)
            n = prefix + n;
          else if (startsWith(n, prefix))
            n = n.substr(prefix.size());
          if (!known.count(n))
            n = t.name;
        }
        hits += known.count(n);
        names.emplace(n, &t);
      }
      if (first || hits > bestHits) {
        best = names;
        bestHits = hits;
      }
      first = false;
    }
  return best;
}

static std::string listed(const std::string &what,
                          const std::vector<std::string> &names) {
  if (names.empty())
    return "";
  std::string out = what + ":";
  for (size_t i = 0; i < names.size() && i < 20; ++i)
    out += "\n    " + names[i];
  if (names.size() > 20)
    out += "\n    and " + std::to_string(names.size() - 20) + " more";
  return out;
}

static std::string shapeName(const std::vector<int64_t> &shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    out += (i ? "," : "") + std::to_string(shape[i]);
  return out + "]";
}

static bool sameTensor(const safetensors::File &file,
                       const safetensors::Tensor &a,
                       const safetensors::Tensor &b) {
  return a.dtype == b.dtype && a.shape == b.shape &&
         std::memcmp(file.data(a), file.data(b), a.end - a.begin) == 0;
}

// A tied parameter may stand in the file under any of its names. Where it
// stands under several, they must agree, or the file's model is not tied.
static void mergeTied(const Model &model, const safetensors::File &file,
                      std::map<std::string, const safetensors::Tensor *> &names,
                      std::vector<std::string> &copies,
                      std::vector<std::string> &different) {
  for (const Entity &p : model.parameters)
    for (const std::string &tied : p.tied) {
      auto copy = names.find(tied);
      if (copy == names.end())
        continue;
      auto [own, fresh] = names.insert({p.name, copy->second});
      if (!fresh) {
        bool same = sameTensor(file, *own->second, *copy->second);
        (same ? copies : different).push_back(tied);
      }
      names.erase(tied);
    }
}

Status run::loadWeights(Model &model, const safetensors::File &file,
                        const std::string &path,
                        std::vector<std::string> &notes) {
  auto names = matchNames(model, file);
  std::vector<std::string> missing, unknown, misshaped, adapters, skipped,
      different;
  mergeTied(model, file, names, skipped, different);
  for (const Entity &p : model.parameters) {
    auto it = names.find(p.name);
    if (it == names.end())
      (isAdapter(p.name) ? adapters : missing).push_back(p.name);
    else if (it->second->shape != p.shape())
      misshaped.push_back(describe(p) + ", in the file " +
                          shapeName(it->second->shape));
    else if (auto t = fromSafetensors(it->second->dtype);
             !t || *t == ACTRT_DTYPE_I1 || *t == ACTRT_DTYPE_I32 ||
             *t == ACTRT_DTYPE_I64)
      misshaped.push_back(describe(p) + ", in the file " + it->second->dtype);
  }
  for (auto &[name, tensor] : names)
    if (!model.parameter(name)) {
      if (isComputedBuffer(name))
        skipped.push_back(name);
      else
        unknown.push_back(name);
    }
  std::string problems =
      listed("\n  missing in the file", missing) +
      listed("\n  unknown to the model", unknown) +
      listed("\n  of another shape or type", misshaped) +
      listed("\n  tied in the model, not in the file", different);
  if (!problems.empty())
    return Error{"the weights do not fit the model" + problems, path};
  for (const Entity &p : model.parameters) {
    auto it = names.find(p.name);
    if (it == names.end())
      continue;
    actrt_type type = p.type;
    type.dtype = *fromSafetensors(it->second->dtype);
    if (auto s =
            model.set(ACTRT_PARAMETER, p.name, file.data(*it->second), type);
        !s)
      return Error{s.error().message, path};
  }
  if (!skipped.empty())
    notes.push_back(listed("not needed from " + path, skipped));
  if (!adapters.empty())
    notes.push_back(std::to_string(adapters.size()) +
                    " LoRA matrices are not in " + path +
                    " and start from the seed");
  return ok();
}

Status run::saveWeights(Model &model, const std::string &path,
                        const safetensors::Metadata &metadata) {
  std::vector<std::vector<uint8_t>> data;
  std::vector<safetensors::Source> tensors;
  for (const Entity &p : model.parameters) {
    actrt_dtype as =
        p.type.dtype >= ACTRT_DTYPE_NF4 ? ACTRT_DTYPE_F32 : p.type.dtype;
    auto bytes = model.get(ACTRT_PARAMETER, p, as);
    if (!bytes)
      return bytes.error();
    data.push_back(std::move(*bytes));
    tensors.push_back(
        {p.name, safetensorsName(as), p.shape(), data.back().data()});
  }
  return safetensors::write(path, std::move(tensors), metadata);
}
