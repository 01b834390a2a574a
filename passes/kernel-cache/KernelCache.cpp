// SPDX-License-Identifier: Apache-2.0
#include "passes/kernel-cache/KernelCache.h"
#include "act/File/AtomicFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <dlfcn.h>
#include <limits>

using namespace mlir;
using namespace act;

static constexpr llvm::StringLiteral magic = "act-kernel 1 ";

std::string act::digestOf(StringRef text) {
  auto hash = llvm::BLAKE3::hash(llvm::arrayRefFromStringRef(text));
  return llvm::toHex(hash, /*LowerCase=*/true);
}

// Every option is set, because their defaults come from the command line: a
// key must not depend on how a tool prints.
std::string act::textForKey(Operation *op) {
  constexpr int64_t all = std::numeric_limits<int64_t>::max();
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os, OpPrintingFlags()
                    .useLocalScope()
                    .assumeVerified()
                    .printGenericOpForm(false)
                    .skipRegions(false)
                    .enableDebugInfo(false)
                    .printUniqueSSAIDs(false)
                    .printValueUsers(false)
                    .printNameLocAsPrefix(false)
                    .elideLargeElementsAttrs(all)
                    .elideLargeResourceString(all));
  return text;
}

/// Identifies this build by the file that contains this function: a plugin, or
/// the program itself, whose name on the command line may lack a path.
static std::string buildIdentity() {
  auto *here = reinterpret_cast<void *>(&buildIdentity);
  Dl_info info;
  if (!dladdr(here, &info) || !info.dli_fname)
    return "";
  std::string path = info.dli_fname;
  if (path.find('/') == std::string::npos)
    path = llvm::sys::fs::getMainExecutable(nullptr, here);
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(path, status))
    return "";
  auto time = status.getLastModificationTime().time_since_epoch().count();
  return (Twine(path) + " " + Twine(status.getSize()) + " " +
          Twine(int64_t(time)))
      .str();
}

KernelCache::KernelCache(StringRef given) : folder(given) {
  if (given == "none" || buildIdentity().empty()) {
    folder.clear();
    return;
  }
  if (!folder.empty())
    return;
  llvm::SmallString<128> home;
  if (!llvm::sys::path::cache_directory(home))
    return;
  llvm::sys::path::append(home, "act");
  folder = home.str();
}

std::string KernelCache::file(const std::string &key, StringRef ending) const {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, key + ending);
  return path.str().str();
}

std::string KernelCache::key(StringRef source) const {
  if (folder.empty())
    return "";
  static const std::string build = buildIdentity();
  return digestOf((magic + ACT_VERSION + "\n" + build + "\n" + source).str());
}

std::optional<std::string> KernelCache::find(const std::string &key,
                                             StringRef ending) const {
  if (key.empty())
    return std::nullopt;
  auto buffer = llvm::MemoryBuffer::getFile(file(key, ending));
  if (!buffer)
    return std::nullopt;
  // The digest shows files that were cut off or changed.
  auto [head, body] = (*buffer)->getBuffer().split('\n');
  if (!head.consume_front(magic) || head != digestOf(body))
    return std::nullopt;
  return body.str();
}

void KernelCache::store(const std::string &key, StringRef content,
                        StringRef ending) const {
  if (key.empty() || llvm::sys::fs::create_directories(folder))
    return;
  // No fsync needed: the digest detects files damaged by a power cut.
  (void)file::writeFile(file(key, ending),
                        (magic + digestOf(content) + "\n" + content).str(),
                        file::Survives::ProcessEnd);
}
