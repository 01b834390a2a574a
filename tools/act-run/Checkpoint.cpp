// SPDX-License-Identifier: Apache-2.0
#include "tools/act-run/Checkpoint.h"
#include "act/Artifact/Convert.h"
#include "tools/act-run/Weights.h"
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

using namespace act;
using namespace act::run;

namespace {

/// FNV-1a over 8-byte words: the identifier need not resist an adversary, only
/// tell two checkpoints apart.
class Hash {
public:
  void add(const void *data, size_t n) {
    auto *p = static_cast<const uint8_t *>(data);
    for (; n >= 8; n -= 8, p += 8) {
      uint64_t w;
      std::memcpy(&w, p, 8);
      mix(w);
    }
    uint64_t last = n;
    for (size_t i = 0; i < n; ++i)
      last = last << 8 | p[i];
    mix(last);
  }
  std::string hex() const {
    char text[17];
    snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(h));
    return text;
  }

private:
  uint64_t h = 0xcbf29ce484222325ull;
  void mix(uint64_t w) {
    h = (h ^ w) * 0x100000001b3ull;
    h ^= h >> 29;
  }
};

// Gradients are rebuilt in every step.
bool isSaved(const Entity &state) { return state.role != ACTRT_ROLE_GRADIENT; }

Result<uint64_t> number(const safetensors::Metadata &m, const char *key) {
  auto it = m.find(key);
  uint64_t v = 0;
  if (it != m.end()) {
    const std::string &s = it->second;
    auto r = std::from_chars(s.data(), s.data() + s.size(), v);
    if (r.ec == std::errc() && r.ptr == s.data() + s.size())
      return v;
  }
  return Error{std::string("the state has no number '") + key + "'", ""};
}

bool isFinite(const Entity &p, const std::vector<uint8_t> &bytes) {
  if (p.type.dtype >= ACTRT_DTYPE_NF4) // frozen
    return true;
  auto type = static_cast<artifact::DType>(p.type.dtype);
  for (uint64_t i = 0; i < p.elements(); ++i)
    if (!std::isfinite(artifact::loadFloat(type, bytes.data(), i)))
      return false;
  return true;
}

std::string metadataOf(const safetensors::File &f, const char *key) {
  auto it = f.metadata().find(key);
  return it == f.metadata().end() ? "" : it->second;
}

} // namespace

// A process may have died between the two renames; then the state of the
// weights that are there is in FILE.state.next, which this save is about to
// replace.
static void finishInterruptedSave(const std::string &path) {
  auto weights = safetensors::File::open(path);
  auto next = safetensors::File::open(path + ".state.next");
  if (weights && next &&
      metadataOf(*weights, "checkpoint") == metadataOf(*next, "checkpoint"))
    (void)std::rename((path + ".state.next").c_str(),
                      (path + ".state").c_str());
}

Status run::saveCheckpoint(Model &model, const std::string &path,
                           const TrainingPosition &position,
                           const std::string &vocabulary) {
  // /dev/null and pipes take the weights; there is no file beside them.
  struct stat info;
  bool alone = stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) &&
               !S_ISDIR(info.st_mode);
  Hash hash;
  hash.add(&position, sizeof position);
  for (const Entity &p : model.parameters) {
    auto bytes = model.get(ACTRT_PARAMETER, p, p.type.dtype);
    if (!bytes)
      return bytes.error();
    // The last step's loss was computed before its update.
    if (!isFinite(p, *bytes))
      return Error{"parameter '" + describe(p) + "' is not finite after step " +
                       std::to_string(position.step) + "; nothing was saved",
                   path};
    hash.add(bytes->data(), bytes->size());
  }
  std::vector<std::vector<uint8_t>> data;
  std::vector<safetensors::Source> tensors;
  for (const Entity &s : model.states) {
    if (!isSaved(s))
      continue;
    auto bytes = model.get(ACTRT_STATE, s, s.type.dtype);
    if (!bytes)
      return bytes.error();
    hash.add(bytes->data(), bytes->size());
    data.push_back(std::move(*bytes));
    tensors.push_back(
        {s.name, safetensorsName(s.type.dtype), s.shape(), data.back().data()});
  }
  std::string id = hash.hex();
  finishInterruptedSave(path);
  std::string next = path + ".state.next", state = path + ".state";
  safetensors::Metadata place{{"checkpoint", id},
                              {"step", std::to_string(position.step)},
                              {"seed", std::to_string(position.seed)},
                              {"optimizer", model.optimizer}};
  if (!alone)
    if (auto s = safetensors::write(next, std::move(tensors), place); !s)
      return s;
  safetensors::Metadata metadata{{"format", "pt"}, {"checkpoint", id}};
  if (!vocabulary.empty())
    metadata["vocab"] = vocabulary;
  if (auto s = saveWeights(model, path, metadata); !s)
    return s;
  if (!alone && std::rename(next.c_str(), state.c_str()) != 0)
    return Error{std::string("cannot write: ") + std::strerror(errno), state};
  return ok();
}

static Result<safetensors::File> openState(const std::string &path,
                                           const std::string &id) {
  std::string problem;
  for (std::string candidate : {path + ".state", path + ".state.next"}) {
    auto f = safetensors::File::open(candidate);
    if (!f) {
      problem = problem.empty() ? f.error().str() : problem;
      continue;
    }
    if (metadataOf(*f, "checkpoint") == id)
      return f;
    problem = candidate + ": belongs to other weights than " + path;
  }
  return Error{problem, ""};
}

Result<TrainingPosition> run::loadCheckpoint(Model &model,
                                             const std::string &path) {
  auto weights = safetensors::File::open(path);
  if (!weights)
    return weights.error();
  std::string id = metadataOf(*weights, "checkpoint");
  if (id.empty())
    return Error{"the file holds weights but is no checkpoint of a training "
                 "run (--init reads weights)",
                 path};
  auto state = openState(path, id);
  if (!state)
    return state.error();
  auto fail = [&](const std::string &m) -> Error {
    return {m, path + ".state"};
  };
  if (metadataOf(*state, "optimizer") != model.optimizer)
    return fail("the checkpoint was made with optimizer '" +
                metadataOf(*state, "optimizer") + "', the step has '" +
                model.optimizer + "'");
  auto step = number(state->metadata(), "step");
  auto seed = number(state->metadata(), "seed");
  if (!step || !seed)
    return fail((step ? seed : step).error().message);
  // Everything is checked before anything is set.
  size_t wanted = 0;
  for (const Entity &s : model.states) {
    if (!isSaved(s))
      continue;
    ++wanted;
    const safetensors::Tensor *t = state->find(s.name);
    if (!t || t->shape != s.shape() ||
        t->dtype != safetensorsName(s.type.dtype))
      return fail("there is no state '" + describe(s) + "'");
  }
  if (wanted != state->tensors().size())
    return fail("there are " + std::to_string(state->tensors().size()) +
                " states, the step has " + std::to_string(wanted));
  std::vector<std::string> notes;
  if (auto s = loadWeights(model, *weights, path, notes); !s)
    return s.error();
  // After the weights, whose setting also resets the master copies.
  for (const Entity &s : model.states)
    if (isSaved(s))
      if (auto r = model.set(ACTRT_STATE, s.name,
                             state->data(*state->find(s.name)), s.type);
          !r)
        return fail(r.error().message);
  return TrainingPosition{*step, *seed};
}
