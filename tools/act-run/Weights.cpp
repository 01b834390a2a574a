// SPDX-License-Identifier: Apache-2.0
//
// Assigns tensors of files to parameters by name, tells what is missing or
// superfluous, and copies in both directions.
#include "tools/act-run/Weights.h"
#include "act/Parallel/Parallel.h"
#include "tools/act-run/Stage.h"
#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <sys/mman.h>

using namespace act;
using namespace act::run;

static bool endsWith(std::string_view s, std::string_view end) {
  return s.size() >= end.size() && s.substr(s.size() - end.size()) == end;
}
static bool startsWith(std::string_view s, std::string_view start) {
  return s.substr(0, start.size()) == start;
}

// Tensors that real checkpoints have and no parameter needs: constants that the
// program computes itself, and bert's pooler, which the language-model loss
// does not read.
static bool isComputedBuffer(const std::string &name) {
  for (const char *end : {"rotary_emb.inv_freq", ".attn.bias",
                          ".attn.masked_bias", "embeddings.position_ids"})
    if (endsWith(name, end))
      return true;
  return startsWith(name, "pooler.") || startsWith(name, "bert.pooler.");
}

// PEFT's names for the two factors of a LoRA update.
static bool isAdapter(const std::string &name) {
  return name.find("lora_A") != std::string::npos ||
         name.find("lora_B") != std::string::npos;
}

using Entry = safetensors::Set::Entry;
using Names = std::map<std::string, Entry>;

Result<WeightFiles> WeightFiles::open(const std::vector<std::string> &paths) {
  WeightFiles files;
  files.paths = paths;
  for (const std::string &path : paths) {
    auto set = safetensors::Set::open(path);
    if (!set)
      return set.error();
    files.sets.push_back(std::move(*set));
  }
  return files;
}

std::string WeightFiles::names() const {
  std::string out;
  for (const std::string &path : paths)
    out += (out.empty() ? "" : ", ") + path;
  return out;
}

std::string WeightFiles::metadata(const std::string &key) const {
  for (const safetensors::Set &set : sets)
    if (auto it = set.metadata().find(key); it != set.metadata().end())
      return it->second;
  return "";
}

// "file name -> parameter": names unchanged, or with one prefix added or
// removed, whichever matches the most parameters.
static Names matchNames(const std::set<std::string> &known,
                        const safetensors::Set &set) {
  Names best;
  size_t bestHits = 0;
  bool first = true;
  for (std::string prefix :
       {"", "model.", "transformer.", "bert.", "base_model.model."})
    for (bool add : {true, false}) {
      Names names;
      size_t hits = 0;
      for (const Entry &t : set.tensors()) {
        std::string n = t.tensor->name;
        if (!known.count(n) && !prefix.empty()) {
          if (add)
            n = prefix + n;
          else if (startsWith(n, prefix))
            n = n.substr(prefix.size());
          if (!known.count(n))
            n = t.tensor->name;
        }
        hits += known.count(n);
        names.emplace(n, t);
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

static bool sameTensor(const Entry &a, const Entry &b) {
  return a.tensor->dtype == b.tensor->dtype &&
         a.tensor->shape == b.tensor->shape &&
         std::memcmp(a.data(), b.data(), a.tensor->end - a.tensor->begin) == 0;
}

// Files may have a tied parameter under any of its names. If they have it under
// several, the values must agree, or the files' model is not tied.
static void mergeTied(const Model &model, Names &names,
                      std::vector<std::string> &copies,
                      std::vector<std::string> &different) {
  for (const Entity &p : model.parameters)
    for (const std::string &tied : p.tied) {
      auto copy = names.find(tied);
      if (copy == names.end())
        continue;
      auto [own, fresh] = names.insert({p.name, copy->second});
      if (!fresh) {
        bool same = sameTensor(own->second, copy->second);
        (same ? copies : different).push_back(tied);
      }
      names.erase(tied);
    }
}

// The names of all sets together; `twice` collects names that are in two sets.
static Names allNames(const Model &model, const WeightFiles &files,
                      std::vector<std::string> &twice) {
  std::set<std::string> known;
  for (const Entity &p : model.parameters) {
    known.insert(p.name);
    known.insert(p.tied.begin(), p.tied.end());
  }
  Names names;
  std::map<std::string, size_t> from;
  for (size_t i = 0; i < files.sets.size(); ++i)
    for (auto &[name, entry] : matchNames(known, files.sets[i])) {
      auto [it, fresh] = from.insert({name, i});
      if (fresh)
        names.emplace(name, entry);
      else if (!isComputedBuffer(name))
        twice.push_back(name + ", in " + files.paths[it->second] + " and in " +
                        files.paths[i]);
    }
  return names;
}

// Empty if the tensor can become the parameter. Float types convert; integers
// and booleans are no weights.
static std::string fits(const Entity &p, const safetensors::Tensor &tensor) {
  if (tensor.shape != p.shape())
    return describe(p) + ", in the file " + shapeName(tensor.shape);
  auto t = fromSafetensors(tensor.dtype);
  bool number = t && *t != ACTRT_DTYPE_I1 && *t != ACTRT_DTYPE_I32 &&
                *t != ACTRT_DTYPE_I64 && *t != ACTRT_DTYPE_U8;
  return number ? "" : describe(p) + ", in the file " + tensor.dtype;
}

// Collects all problems before it reports, so that one run shows every name
// that does not fit.
Result<Assignment> run::assign(const Model &model, const WeightFiles &files,
                               Missing may) {
  std::vector<std::string> missing, unknown, misshaped, adapters, skipped,
      different, twice;
  Names names = allNames(model, files, twice);
  mergeTied(model, names, skipped, different);
  size_t adaptersFound = 0;
  bool baseMissing = false;
  for (const Entity &p : model.parameters) {
    auto it = names.find(p.name);
    if (it != names.end()) {
      adaptersFound += isAdapter(p.name);
      if (std::string problem = fits(p, *it->second.tensor); !problem.empty())
        misshaped.push_back(problem);
    } else if (isAdapter(p.name)) {
      adapters.push_back(p.name);
    } else if (may != Missing::Frozen || !p.frozen) {
      missing.push_back(p.name);
      baseMissing |= p.frozen;
    }
  }
  // An adapter with only some of its matrices is an error.
  if (adaptersFound)
    missing.insert(missing.end(), adapters.begin(), adapters.end());
  for (auto &[name, tensor] : names)
    if (!model.parameter(name))
      (isComputedBuffer(name) ? skipped : unknown).push_back(name);
  const std::string file = files.paths.size() > 1 ? "files" : "file";
  std::string problems =
      listed("\n  missing in the " + file, missing) +
      listed("\n  unknown to the model", unknown) +
      listed("\n  given twice", twice) +
      listed("\n  of another shape or type", misshaped) +
      listed("\n  tied in the model, not in the " + file, different);
  if (baseMissing && adaptersFound && unknown.empty())
    problems += "\n  adapters come beside their base: --init BASE --init "
                "ADAPTERS";
  if (!problems.empty())
    return Error{"the weights do not fit the model" + problems, files.names()};
  Assignment out;
  out.tensors = std::move(names);
  for (const std::string &name : skipped)
    out.tensors.erase(name);
  if (!skipped.empty())
    out.notes.push_back(listed("not needed from " + files.names(), skipped));
  if (!adapters.empty())
    out.notes.push_back(std::to_string(adapters.size()) +
                        " LoRA matrices are not in " + files.names() +
                        " and start from the seed");
  return out;
}

// Two passes instead of one: making values and reading files have different
// speeds, and are reported apart.
Result<ValueTimes> run::setValues(Model &model, const Assignment &assignment,
                                  uint64_t seed) {
  ValueTimes times;
  uint64_t read = 0;
  for (const Entity &p : model.parameters)
    if (auto it = assignment.tensors.find(p.name);
        it != assignment.tensors.end())
      read += it->second.tensor->end - it->second.tensor->begin;
    else
      times.initialisedBytes += p.bytes;
  {
    Stage stage("initialising parameters", times.initialisedBytes);
    for (const Entity &p : model.parameters) {
      if (assignment.tensors.count(p.name))
        continue;
      if (auto s = model.initialise(p, seed); !s)
        return s.error();
      stage.advance(p.bytes);
    }
    times.initialiseSeconds = stage.seconds();
  }
  Stage stage("reading weights", read);
  for (const Entity &p : model.parameters) {
    auto it = assignment.tensors.find(p.name);
    if (it == assignment.tensors.end())
      continue;
    const Entry &entry = it->second;
    actrt_type type = p.type;
    type.dtype = *fromSafetensors(entry.tensor->dtype);
    if (auto s = model.set(ACTRT_PARAMETER, p.name, entry.data(), type); !s)
      return s.error();
    // The pages are copied and not needed again. Without this a large model
    // would be in memory twice.
    entry.file->forget(*entry.tensor);
    stage.advance(entry.tensor->end - entry.tensor->begin);
  }
  return times;
}

double run::secondsToWrite(const Model &model, uint64_t bytes) {
  auto start = std::chrono::steady_clock::now();
  // The same kind of memory as the runtime's, freed before parameters take any.
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return 0;
  madvise(memory, bytes, MADV_HUGEPAGE);
  parallelPieces(model.onHost ? model.threads : 0, bytes, 1 << 20,
                 [&](uint64_t at, uint64_t count) {
                   std::memset(static_cast<char *>(memory) + at, 1, count);
                 });
  auto end = std::chrono::steady_clock::now();
  munmap(memory, bytes);
  return std::chrono::duration<double>(end - start).count();
}

std::vector<const Entity *> run::savedParameters(const Model &model,
                                                 const SaveOptions &options) {
  std::vector<const Entity *> all, trained;
  for (const Entity &p : model.parameters) {
    all.push_back(&p);
    if (!p.frozen)
      trained.push_back(&p);
  }
  return options.whole || trained.empty() ? all : trained;
}

Status run::saveWeights(Model &model, const std::string &path,
                        const safetensors::Metadata &metadata,
                        const SaveOptions &options) {
  std::vector<const Entity *> saved = savedParameters(model, options);
  bool adapters = std::all_of(saved.begin(), saved.end(), [](const Entity *p) {
    return isAdapter(p->name);
  });
  std::vector<safetensors::Source> tensors;
  for (const Entity *p : saved) {
    // Safetensors has no 4-bit type.
    actrt_dtype as = p->type.dtype == ACTRT_DTYPE_NF4 ||
                             p->type.dtype == ACTRT_DTYPE_NF4_NESTED
                         ? ACTRT_DTYPE_F32
                         : p->type.dtype;
    tensors.push_back(
        {(adapters ? "base_model.model." : "") + p->name, safetensorsName(as),
         p->shape(), nullptr,
         [&model, p, as] { return model.get(ACTRT_PARAMETER, *p, as); }});
  }
  return safetensors::writeSet(path, std::move(tensors), metadata,
                               options.maxShardBytes);
}
