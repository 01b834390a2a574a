// SPDX-License-Identifier: Apache-2.0
#include "passes/tile-to-nvvm/FindPtxas.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include <mutex>

using namespace mlir;
using namespace act;

const char tile::ptxasPlaces[] =
    "PATH, CUDA_HOME (/usr/local/cuda) and the Python packages "
    "nvidia-cuda-nvcc and triton";

std::string tile::Ptxas::str() const {
  std::string number = version.empty() ? "" : " " + version.getAsString();
  return "ptxas" + number + " (" + path + ")";
}

std::string tile::identityOf(StringRef program) {
  llvm::SmallString<128> path;
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::real_path(program, path) ||
      llvm::sys::fs::status(path, status))
    return "";
  auto time = status.getLastModificationTime().time_since_epoch().count();
  return (Twine(path) + " " + Twine(status.getSize()) + " " +
          Twine(int64_t(time)))
      .str();
}

/// The release that `ptxas --version` prints; empty if there is none.
static llvm::VersionTuple askVersion(StringRef program) {
  llvm::SmallString<128> said;
  if (llvm::sys::fs::createTemporaryFile("act-ptxas", "txt", said))
    return {};
  llvm::FileRemover remover(said);
  StringRef argv[] = {program, "--version"};
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(said),
                                          StringRef("")};
  if (llvm::sys::ExecuteAndWait(program, argv, std::nullopt, redirects) != 0)
    return {};
  auto text = llvm::MemoryBuffer::getFile(said);
  if (!text)
    return {};
  // "Cuda compilation tools, release 13.3, V13.3.33"
  StringRef release = (*text)->getBuffer().split("release ").second;
  llvm::VersionTuple version;
  if (version.tryParse(release.take_while(
          [](char c) { return llvm::isDigit(c) || c == '.'; })))
    return {};
  return version;
}

static llvm::VersionTuple versionOf(StringRef program) {
  static std::mutex mutex;
  static llvm::StringMap<llvm::VersionTuple> known;
  std::lock_guard lock(mutex);
  auto [it, fresh] = known.try_emplace(tile::identityOf(program));
  if (fresh)
    it->second = askVersion(program);
  return it->second;
}

/// venv/lib/python3.X/site-packages/PACKAGE/…/ptxas
static void addWheels(StringRef venv, SmallVector<std::string> &programs) {
  std::error_code code;
  llvm::SmallString<128> lib(venv);
  llvm::sys::path::append(lib, "lib");
  for (llvm::sys::fs::directory_iterator it(lib, code), end; it != end && !code;
       it.increment(code))
    for (StringRef inPackages :
         {"nvidia/cuda_nvcc/bin/ptxas", "nvidia/cu13/bin/ptxas",
          "triton/backends/nvidia/bin/ptxas-blackwell",
          "triton/backends/nvidia/bin/ptxas"})
      programs.push_back((it->path() + "/site-packages/" + inPackages).str());
}

std::optional<tile::Ptxas> tile::findPtxas() {
  SmallVector<std::string> programs;
  if (auto path = llvm::sys::findProgramByName("ptxas"))
    programs.push_back(*path);
  programs.push_back(
      llvm::sys::Process::GetEnv("CUDA_HOME").value_or("/usr/local/cuda") +
      "/bin/ptxas");
  if (auto venv = llvm::sys::Process::GetEnv("VIRTUAL_ENV"))
    addWheels(*venv, programs);
  addWheels("build/venv", programs);
  std::optional<Ptxas> newest;
  for (const std::string &program : programs) {
    if (!llvm::sys::fs::can_execute(program))
      continue;
    Ptxas found{program, versionOf(program)};
    if (!newest || newest->version < found.version)
      newest = std::move(found);
  }
  return newest;
}
