// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints: weights under their Hugging Face names, and the rest of the
// training state beside them.
#include "tools/act-run/Checkpoint.h"
#include "act/Artifact/Convert.h"
#include "act/Artifact/Types.h"
#include "act/Parallel/Parallel.h"
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

using namespace act;
using namespace act::run;

namespace {

/// FNV-1a over 8-byte words. The identifier only tells checkpoints apart; it
/// need not resist an adversary. Large data is hashed in pieces on all cores.
class Hash {
public:
  void add(const void *data, size_t n) {
    constexpr size_t piece = 1 << 20;
    auto *bytes = static_cast<const uint8_t *>(data);
    std::vector<uint64_t> hashes(n / piece + 1);
    parallelPieces(0, n, piece, [&](uint64_t first, uint64_t count) {
      hashes[first / piece] = ofPiece(bytes + first, count);
    });
    for (uint64_t hash : hashes)
      h = mix(h, hash);
  }
  std::string hex() const {
    char text[17];
    snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(h));
    return text;
  }

private:
  static constexpr uint64_t start = 0xcbf29ce484222325ull;
  uint64_t h = start;
  static uint64_t mix(uint64_t h, uint64_t w) {
    h = (h ^ w) * 0x100000001b3ull;
    return h ^ h >> 29;
  }
  static uint64_t ofPiece(const uint8_t *p, size_t n) {
    uint64_t hash = start;
    for (; n >= 8; n -= 8, p += 8) {
      uint64_t w;
      std::memcpy(&w, p, 8);
      hash = mix(hash, w);
    }
    uint64_t last = n;
    for (size_t i = 0; i < n; ++i)
      last = last << 8 | p[i];
    return mix(hash, last);
  }
};

// Gradients are not saved: every step recomputes them.
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
  std::atomic<bool> finite{true};
  auto type = static_cast<artifact::DType>(p.type.dtype);
  uint64_t width = artifact::elementBytes(type);
  parallelPieces(
      0, width ? p.elements() : 0, 1 << 18,
      [&](uint64_t first, uint64_t count) {
        if (!artifact::allFinite(type, bytes.data() + first * width, count))
          finite = false;
      });
  return finite;
}

template <typename File>
std::string metadataOf(const File &f, const char *key) {
  auto it = f.metadata().find(key);
  return it == f.metadata().end() ? "" : it->second;
}

} // namespace

// A process may have died between the two renames. The state of the existing
// weights is then in FILE.state.next, which this save is about to replace.
static void finishInterruptedSave(const std::string &path) {
  auto weights = safetensors::Set::open(path);
  auto next = safetensors::File::open(path + ".state.next");
  if (weights && next &&
      metadataOf(*weights, "checkpoint") == metadataOf(*next, "checkpoint"))
    (void)std::rename((path + ".state.next").c_str(),
                      (path + ".state").c_str());
}

static Status writeState(Model &model, const std::string &path,
                         const safetensors::Metadata &place) {
  std::vector<safetensors::Source> tensors;
  for (const Entity &s : model.states)
    if (isSaved(s))
      tensors.push_back(
          {s.name, safetensorsName(s.type.dtype), s.shape(), nullptr,
           [&model, &s] { return model.get(ACTRT_STATE, s, s.type.dtype); }});
  return safetensors::write(path, std::move(tensors), place);
}

// A hash of everything that training changes; skips frozen parameters.
static Result<std::string> identify(Model &model, const std::string &path,
                                    const TrainingPosition &position) {
  Hash hash;
  hash.add(&position, sizeof position);
  for (const Entity *p : savedParameters(model, {})) {
    auto bytes = model.get(ACTRT_PARAMETER, *p, p->type.dtype);
    if (!bytes)
      return bytes.error();
    // The loss check misses this: the last step's loss precedes its update.
    if (!isFinite(*p, *bytes))
      return Error{"parameter '" + describe(*p) +
                       "' is not finite after step " +
                       std::to_string(position.step) + "; nothing was saved",
                   path};
    hash.add(bytes->data(), bytes->size());
  }
  for (const Entity &s : model.states) {
    if (!isSaved(s))
      continue;
    auto bytes = model.get(ACTRT_STATE, s, s.type.dtype);
    if (!bytes)
      return bytes.error();
    hash.add(bytes->data(), bytes->size());
  }
  return hash.hex();
}

/// The state goes to a file of its own first. Weights and state carry the same
/// id, so after an interruption in between it is known which belong together.
Status run::saveCheckpoint(Model &model, const std::string &path,
                           const TrainingPosition &position, Base base,
                           const std::string &vocabulary,
                           const SaveOptions &options) {
  // /dev/null and pipes receive only the weights, without a state file.
  struct stat info;
  bool alone = stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) &&
               !S_ISDIR(info.st_mode);
  auto id = identify(model, path, position);
  if (!id)
    return id.error();
  finishInterruptedSave(path);
  std::string next = path + ".state.next", state = path + ".state";
  if (!alone)
    if (auto s = writeState(model, next,
                            {{"checkpoint", *id},
                             {"step", std::to_string(position.step)},
                             {"seed", std::to_string(position.seed)},
                             {"base", base == Base::Files ? "files" : "seed"},
                             {"optimizer", model.optimizer}});
        !s)
      return s;
  safetensors::Metadata metadata{{"format", "pt"}, {"checkpoint", *id}};
  if (!vocabulary.empty())
    metadata["vocab"] = vocabulary;
  if (auto s = saveWeights(model, path, metadata, options); !s)
    return s;
  if (!alone && std::rename(next.c_str(), state.c_str()) != 0)
    return Error{std::string("cannot write: ") + std::strerror(errno), state};
  return ok();
}

/// A run that was interrupted while it saved may have left the matching state
/// under either name.
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
    problem = candidate + ": belongs to different weights than " + path;
  }
  return Error{problem, ""};
}

Result<Checkpoint> Checkpoint::open(const std::string &named) {
  auto weights = safetensors::Set::open(named);
  if (!weights)
    return weights.error();
  std::string id = metadataOf(*weights, "checkpoint");
  if (id.empty())
    return Error{"the file holds weights but is not a checkpoint of a training "
                 "run (--init reads weights)",
                 named};
  const std::string path = safetensors::writtenAs(weights->path());
  auto state = openState(path, id);
  if (!state)
    return state.error();
  Checkpoint c(path, std::move(*state));
  auto step = number(c.state.metadata(), "step");
  auto seed = number(c.state.metadata(), "seed");
  if (!step || !seed)
    return Error{(step ? seed : step).error().message, path + ".state"};
  c.position = {*step, *seed};
  if (metadataOf(c.state, "base") == "files")
    c.base = Base::Files;
  return c;
}

Status Checkpoint::check(const Model &model) const {
  auto fail = [&](const std::string &m) -> Status {
    return Error{m, path + ".state"};
  };
  if (metadataOf(state, "optimizer") != model.optimizer)
    return fail("the checkpoint was made with optimizer '" +
                metadataOf(state, "optimizer") + "', but the step has '" +
                model.optimizer + "'");
  size_t wanted = 0;
  for (const Entity &s : model.states) {
    if (!isSaved(s))
      continue;
    ++wanted;
    const safetensors::Tensor *t = state.find(s.name);
    if (!t || t->shape != s.shape() ||
        t->dtype != safetensorsName(s.type.dtype))
      return fail("there is no state '" + describe(s) + "'");
  }
  if (wanted != state.tensors().size())
    return fail("there are " + std::to_string(state.tensors().size()) +
                " states, but the step has " + std::to_string(wanted));
  return ok();
}

Status Checkpoint::setStates(Model &model) const {
  for (const Entity &s : model.states) {
    if (!isSaved(s))
      continue;
    const safetensors::Tensor *t = state.find(s.name);
    if (auto r = model.set(ACTRT_STATE, s.name, state.data(*t), s.type); !r)
      return Error{r.error().message, path + ".state"};
    state.forget(*t);
  }
  return ok();
}
