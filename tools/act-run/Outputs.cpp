// SPDX-License-Identifier: Apache-2.0
//
// Outputs of a command: none may be another's file or an input, and each can be
// written.
#include "tools/act-run/Outputs.h"
#include "act/File/AtomicFile.h"
#include "act/Safetensors/Set.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>
#include <vector>

using namespace act;
using namespace act::run;
namespace fs = std::filesystem;

namespace {

/// Which uses may share a file: a checkpoint may replace the weights that it
/// started from. Nothing else may be replaced.
enum class Role { Other, Weights };

struct Named {
  std::string option, path;
  Role role = Role::Other;
  bool inPlace = false; // written as the run goes, not replaced at its end
};

// Devices and pipes hold no data to overwrite.
bool isSpecial(const std::string &path) {
  std::error_code e;
  return fs::is_other(fs::status(path, e));
}

// The path that a name refers to, even if no file exists yet.
fs::path placeOf(const std::string &name) {
  std::error_code e;
  fs::path path = fs::absolute(name, e);
  for (int links = 0; links < 40 && fs::is_symlink(path, e); ++links)
    path = path.parent_path() / fs::read_symlink(path, e);
  fs::path place = fs::weakly_canonical(path, e);
  return e ? path : place;
}

bool sameFile(const std::string &a, const std::string &b) {
  std::error_code e;
  return placeOf(a) == placeOf(b) || fs::equivalent(a, b, e);
}

void add(std::vector<Named> &list, const Named &file) {
  if (!file.path.empty() && !isSpecial(file.path))
    list.push_back(file);
}

void addCheckpoint(std::vector<Named> &list, const char *option,
                   const std::string &path) {
  if (path.empty() || isSpecial(path))
    return;
  const std::string file = safetensors::fileToWrite(path);
  for (const char *end : {"", ".index.json", ".state", ".state.next"})
    add(list, {option, file + end, Role::Weights});
}

Status checkWritable(const Named &f) {
  std::error_code e;
  if (!f.inPlace || !fs::is_regular_file(f.path, e)) {
    // Nothing is committed, so the temporary file is removed again.
    auto file = file::AtomicFile::create(f.path);
    return file ? ok() : Status(file.error());
  }
  int fd = ::open(f.path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return Error{std::string("cannot write: ") + std::strerror(errno), f.path};
  ::close(fd);
  return ok();
}

std::vector<Named> outputsOf(const Options &o) {
  std::vector<Named> list;
  addCheckpoint(list, "--save", o.save);
  add(list, {"--log", o.log, Role::Other, true});
  add(list, {"--dump-gradients", o.dumpGradients});
  add(list, {"--measure-json", o.measureJson});
  add(list, {"--times-json", o.timesJson});
  add(list, {"--out", o.out});
  return list;
}

std::vector<Named> inputsOf(const Options &o) {
  std::vector<Named> list;
  add(list, {"FILE", o.file});
  add(list, {"--data", o.data});
  add(list, {"--tokens", o.tokens});
  add(list, {"--labels", o.labels});
  add(list, {"--segments", o.segments});
  add(list, {"--pack", o.pack});
  add(list, {"--attention-mask", o.attentionMask});
  for (const std::string &path : o.init)
    if (auto file = safetensors::locate(path))
      add(list, {"--init", *file, Role::Weights});
  addCheckpoint(list, "--resume", o.resume);
  return list;
}

} // namespace

Status run::checkOutputs(const Options &o) {
  std::vector<Named> outputs = outputsOf(o), inputs = inputsOf(o);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Named &out = outputs[i];
    for (size_t k = 0; k < i; ++k)
      if (sameFile(out.path, outputs[k].path))
        return Error{outputs[k].option + " and " + out.option +
                         " would write the same file",
                     out.path};
    for (const Named &in : inputs)
      if (!(out.role == Role::Weights && in.role == Role::Weights) &&
          sameFile(out.path, in.path))
        return Error{out.option + " would overwrite the file that " +
                         in.option + " reads",
                     out.path};
  }
  for (const Named &out : outputs)
    if (auto s = checkWritable(out); !s)
      return s;
  return ok();
}
