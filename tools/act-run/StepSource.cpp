// SPDX-License-Identifier: Apache-2.0
//
// The two sources of a step. Both give advice if it does not fit in memory: one
// by compiling anew, the other by the command that would.
#include "tools/act-run/StepSource.h"
#include "act/Artifact/Format.h"
#include "act/File/MappedFile.h"
#include "tools/act-run/Stage.h"
#include "tools/act-run/Target.h"
#include "tools/arguments/FileKind.h"

using namespace act;
using namespace act::run;

namespace {
class ArtifactFile : public StepSource {
public:
  explicit ArtifactFile(std::string path) : path(std::move(path)) {}
  Result<artifact::Step> load() override { return artifact::readFile(path); }
  bool compiledHere() const override { return false; }
  std::string advice(uint64_t, uint64_t free) override {
    return "compile its module to need less: act-opt MODEL.mlir "
           "--fuse-attention --remat=budget=fit:" +
           std::to_string(free) + " --emit=" + path +
           " (--memory-report=what-if=" + std::to_string(free) +
           " shows what fits)";
  }

private:
  std::string path;
};

class ModuleFile : public StepSource {
public:
  ModuleFile(std::string path, CompileOptions options)
      : path(std::move(path)), options(std::move(options)) {}
  Result<artifact::Step> load() override {
    auto target = targetOf(options.device);
    if (!target)
      return target.error();
    options.target = *target;
    Stage stage("compiling " + path);
    return compileModule(path, options);
  }
  bool compiledHere() const override { return true; }
  std::string advice(uint64_t needed, uint64_t free) override {
    Stage stage("looking for what would fit");
    return whatWouldFit(path, options, needed, free);
  }

private:
  std::string path;
  CompileOptions options;
};
} // namespace

/// Whether the file is an artifact; an error if it is neither that nor a
/// module.
static Result<bool> isArtifact(const std::string &path) {
  if (auto folder = tools::ifFolder(path, tools::FileKind::Module);
      !folder.empty())
    return Error{folder, path};
  auto file = file::MappedFile::open(path);
  if (!file)
    return file.error();
  if (artifact::looksLikeArtifact(file->data(), file->size()))
    return true;
  if (auto foreign =
          tools::ifForeign(path, file->text(), tools::FileKind::Module);
      !foreign.empty())
    return Error{foreign, path};
  return false;
}

Status run::checkStepFile(const std::string &path) {
  auto compiled = isArtifact(path);
  return compiled ? ok() : compiled.error();
}

Result<std::unique_ptr<StepSource>>
run::openStepSource(const std::string &path, const CompileOptions &options) {
  auto compiled = isArtifact(path);
  if (!compiled)
    return compiled.error();
  std::unique_ptr<StepSource> source;
  if (*compiled)
    source = std::make_unique<ArtifactFile>(path);
  else
    source = std::make_unique<ModuleFile>(path, options);
  return source;
}
