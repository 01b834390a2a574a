// SPDX-License-Identifier: Apache-2.0
//
// The log of a training run, one line of JSON per step.
#include "tools/act-run/TrainingLog.h"
#include "act/File/MappedFile.h"
#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace act;
using namespace act::run;

TrainingLog::~TrainingLog() {
  if (file)
    fclose(file);
}

static Error failure(const std::string &path) {
  return {std::string("cannot write: ") + std::strerror(errno), path};
}

/// A run that died after its last checkpoint has logged steps that the resumed
/// run does again; their lines go.
static std::string linesUpTo(const std::string &path, uint64_t step,
                             bool evaluatedThere) {
  std::string kept;
  auto old = file::MappedFile::open(path);
  if (!old)
    return kept;
  std::string_view text = old->text();
  for (size_t end; (end = text.find('\n')) != std::string_view::npos;
       text = text.substr(end + 1)) {
    auto line =
        nlohmann::ordered_json::parse(text.substr(0, end), nullptr, false);
    if (!line.is_object() || !line.contains("step") ||
        !line["step"].is_number_unsigned() ||
        line["step"].get<uint64_t>() > step)
      continue;
    if (line["step"].get<uint64_t>() == step && !evaluatedThere)
      line.erase("val_loss");
    kept += line.dump() + "\n";
  }
  return kept;
}

Status TrainingLog::open(const std::string &p, uint64_t resumedAt,
                         bool evaluatedThere) {
  if (p.empty())
    return ok();
  path = p;
  std::string kept =
      resumedAt > 0 ? linesUpTo(path, resumedAt, evaluatedThere) : "";
  file = fopen(path.c_str(), "we");
  if (!file || fwrite(kept.data(), 1, kept.size(), file) != kept.size() ||
      fflush(file) != 0)
    return failure(path);
  return ok();
}

static nlohmann::ordered_json number(double v) {
  // JSON has no NaN; null tells a reader that there is no value.
  return std::isfinite(v) ? nlohmann::ordered_json(v)
                          : nlohmann::ordered_json(nullptr);
}

Status TrainingLog::add(uint64_t step, double loss,
                        std::optional<double> tokensPerSecond,
                        std::optional<double> valLoss) {
  if (!file)
    return ok();
  nlohmann::ordered_json line;
  line["step"] = step;
  line["loss"] = number(loss);
  if (tokensPerSecond)
    line["tokens_per_second"] = number(*tokensPerSecond);
  if (valLoss)
    line["val_loss"] = number(*valLoss);
  std::string text = line.dump() + "\n";
  if (fwrite(text.data(), 1, text.size(), file) != text.size() ||
      fflush(file) != 0)
    return failure(path);
  return ok();
}
